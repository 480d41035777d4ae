package aidiag

import (
	"errors"
	"fmt"

	"netwhy/aidiag/internal/route"
)

// Preview returns exactly the body that would leave for a case, to the first
// provider that would be asked, and the address it would go to. It reads no key,
// opens no socket and sends nothing. The one word that differs from one sending
// to the next is the marker around the evidence, which is made of random bytes.
func (e *Engine) Preview(c Case) (to string, body []byte, err error) {
	list := e.cfg.Providers
	if len(list) == 0 {
		list = Discover(e.deps.Getenv)
	}
	if len(list) == 0 { // what an unconfigured run would say to a local server
		p, _ := preset("openai")
		list = []Provider{p.filled()}
	}
	crew := &crew{}
	providers := e.recruit(crew, list, false)
	if len(providers) == 0 || len(crew.members) == 0 {
		if len(crew.notices) > 0 {
			return "", nil, errors.New(crew.notices[0].Text)
		}
		return "", nil, ErrNobody
	}
	b := e.brief(&c)
	q := b.request(route.Shape{Half: e.limits.Small(providers[0].Context)})
	q.Caps = providers[0].Caps
	m := crew.members[0]
	if body, err = m.endpoint.Body(q); err != nil {
		return "", nil, fmt.Errorf("preview of %s: %w", c.ID, err)
	}
	return m.url + "/chat/completions", body, nil
}
