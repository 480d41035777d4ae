// Package privilege gives up what opening an interface needed, before the first
// packet is read.
//
// # Why
//
// Packets are written by strangers, and parsers have bugs. What the parsers
// cannot do, nobody can make them do: after Drop no thread of the process is
// root, has a capability, can gain one by starting a program, or can get one back.
package privilege

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
)

// Plan says who the process will be.
type Plan struct {
	Name     string // of the user
	UID, GID int
	Groups   []int
	Switch   bool // become somebody else
	Stay     bool // the user asked to stay root: nothing is given up
}

// Error says why a user cannot be become.
type Error struct {
	User   string
	Reason string
	Remedy string
}

func (e *Error) Error() string {
	return fmt.Sprintf("--user %s: %s; %s", e.User, e.Reason, e.Remedy)
}

// Names of users.
const (
	root   = "root"
	nobody = "nobody"
)

// NewPlan decides who to be: the user that was named, else the one who called
// sudo, else nobody. A process that is not root keeps its user, and gives up its
// capabilities all the same. "root" means to stay what the process is.
func NewPlan(name string, euid int, getenv func(string) string) (Plan, error) {
	if euid != 0 {
		return unprivileged(name, euid)
	}
	if name == root {
		return Plan{Name: root, Stay: true}, nil
	}
	if name == "" {
		if id, err := strconv.Atoi(getenv("SUDO_UID")); err == nil && id > 0 {
			if u, err := user.LookupId(getenv("SUDO_UID")); err == nil {
				return become(u)
			}
			gid, err := strconv.Atoi(getenv("SUDO_GID"))
			if err != nil || gid <= 0 {
				gid = id
			}
			return Plan{Name: strconv.Itoa(id), UID: id, GID: gid, Switch: true}, nil
		}
		name = nobody
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return Plan{}, &Error{User: name, Reason: "there is no such user", Remedy: "name one that exists, or root to stay root"}
		}
	}
	return become(u)
}

func unprivileged(name string, euid int) (Plan, error) {
	p := Plan{UID: euid, Name: strconv.Itoa(euid)}
	u, err := user.LookupId(strconv.Itoa(euid))
	if err == nil {
		p.Name = u.Username
	}
	if name == "" || name == p.Name || name == strconv.Itoa(euid) {
		return p, nil
	}
	return p, &Error{User: name, Reason: "only root can become somebody else", Remedy: "run with sudo, or leave --user away"}
}

var errNumber = errors.New("the system's user has an id that is no number")

func become(u *user.User) (Plan, error) {
	p := Plan{Name: u.Username, Switch: true}
	var err1, err2 error
	p.UID, err1 = strconv.Atoi(u.Uid)
	p.GID, err2 = strconv.Atoi(u.Gid)
	if errors.Join(err1, err2) != nil {
		return Plan{}, fmt.Errorf("user %s: %w", u.Username, errNumber)
	}
	if p.UID == 0 {
		return Plan{}, &Error{User: u.Username, Reason: "it is root under another name", Remedy: "name an ordinary user, or root to stay root"}
	}
	p.Groups = []int{p.GID}
	if ids, err := u.GroupIds(); err == nil {
		for _, id := range ids {
			if g, err := strconv.Atoi(id); err == nil && g != 0 && !slices.Contains(p.Groups, g) {
				p.Groups = append(p.Groups, g)
			}
		}
	}
	return p, nil
}
