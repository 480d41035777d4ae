package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"netwhy/cmd/netwhy/internal/report"
)

// pane is one of the lists.
type pane int

const (
	diagnoses pane = iota
	talkers
	services
	panes
)

// model is what the screen shows, and where the user is.
type model struct {
	opt           Options
	width, height int
	began         time.Time
	last, before  *Snapshot
	rates         []rate // one a second, oldest first
	pane          pane
	chosen        string // id of the chosen diagnosis
	offset        [panes]int
	detail        bool
	connection    *report.Connection // of the details; nil: the diagnosis
	help          bool
	paused        bool
	scroll        int
	log           string
	logged        time.Time
}

// rate is one second of traffic.
type rate struct{ packets, bytes, drops float64 }

// remembered is how many seconds are drawn at most: one a column.
const remembered = 300

func newModel(opt Options) *model { return &model{opt: opt, width: 80, height: 24, began: time.Now()} }

// Init implements tea.Model.
func (*model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case *Snapshot:
		m.take(msg)
	case logLine:
		m.log, m.logged = string(msg), time.Now()
	case tea.KeyPressMsg:
		m.key(msg.String())
	}
	return m, nil
}

func (m *model) take(s *Snapshot) {
	if m.before != nil {
		if seconds := s.At.Sub(m.before.At).Seconds(); seconds > 0 {
			m.rates = append(m.rates, rate{
				packets: float64(s.Packets-m.before.Packets) / seconds, bytes: float64(s.Bytes-m.before.Bytes) / seconds,
				drops: float64(s.drops()-m.before.drops()) / seconds,
			})
			if n := len(m.rates) - remembered; n > 0 {
				m.rates = append(m.rates[:0], m.rates[n:]...)
			}
		}
	}
	m.before = s
	if !m.paused {
		m.last = s
	}
}

func (s *Snapshot) drops() uint64 { return s.Kernel + s.Interface + s.Queue }

func (m *model) key(k string) {
	switch k {
	case "ctrl+c":
		m.opt.Interrupt()
	case "q":
		m.opt.Quit()
	case "?", "h", "f1":
		m.help = !m.help
	case "esc", "backspace", "left":
		m.back()
	case "enter", "right":
		if m.pane == diagnoses && m.choice() != nil {
			m.detail, m.scroll = true, 0
		}
	case "1", "2", "3", "4", "5", "6", "7", "8":
		m.open(int(k[0] - '0'))
	case "tab":
		m.pane, m.detail, m.connection = (m.pane+1)%panes, false, nil
	case "shift+tab":
		m.pane, m.detail, m.connection = (m.pane+panes-1)%panes, false, nil
	case "p", "space":
		if m.paused = !m.paused; !m.paused {
			m.last = m.before
		}
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-10)
	case "pgdown":
		m.move(10)
	case "g", "home":
		m.move(-1 << 20)
	case "G", "end":
		m.move(1 << 20)
	}
}

// back leaves what was opened last.
func (m *model) back() {
	switch {
	case m.help:
		m.help = false
	case m.connection != nil:
		m.connection, m.scroll = nil, 0
	default:
		m.detail, m.scroll = false, 0
	}
}

// move moves the choice, or what is read.
func (m *model) move(n int) {
	if m.detail {
		m.scroll = max(0, m.scroll+n)
		return
	}
	if m.pane != diagnoses {
		m.offset[m.pane] = min(max(0, m.offset[m.pane]+n), max(0, m.rows(m.pane)-1))
		return
	}
	list := m.list()
	if len(list) == 0 {
		return
	}
	m.chosen = list[min(max(m.place()+n, 0), len(list)-1)].ID
}

// rows is how many lines a list has.
func (m *model) rows(p pane) int {
	switch {
	case m.last == nil:
		return 0
	case p == talkers:
		return len(m.last.Talkers)
	}
	return len(m.last.Services)
}

func (m *model) list() []report.Diagnosis {
	if m.last == nil || m.last.Report == nil {
		return nil
	}
	return m.last.Report.Diagnoses
}

// place is where the chosen diagnosis stands; it keeps its id while the order
// changes.
func (m *model) place() int {
	for i, d := range m.list() {
		if d.ID == m.chosen {
			return i
		}
	}
	return 0
}

func (m *model) choice() *report.Diagnosis {
	list := m.list()
	if len(list) == 0 {
		return nil
	}
	return &list[m.place()]
}

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	v.WindowTitle = "netwhy"
	return v
}
