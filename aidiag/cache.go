package aidiag

import (
	"container/list"
	"sync"

	"netwhy/aidiag/internal/answer"
)

// reused is what held of a model's answer, and who gave it: enough to answer an
// equal case again.
type reused struct {
	kept                      *answer.Answer
	rejected                  []Claim
	provider, endpoint, model string
}

// cache remembers answers by what was asked, and makes equal questions at the
// same time one.
type cache struct {
	mu     sync.Mutex
	most   int
	order  *list.List // of *entry, newest first
	byKey  map[string]*list.Element
	flying map[string]chan struct{} // closed when the question is over
}

type entry struct {
	key string
	val reused
}

const cacheSize = 256

func newCache() *cache {
	return &cache{most: cacheSize, order: list.New(), byKey: map[string]*list.Element{}, flying: map[string]chan struct{}{}}
}

// get returns a known answer; or nil and a channel to wait for when somebody
// else is asking; or nil and nil: the caller asks, and must call put.
func (c *cache) get(key string) (*reused, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e)
		v := e.Value.(*entry).val //nolint:forcetypeassert,errcheck // only entries are put there
		return &v, nil
	}
	if ch, ok := c.flying[key]; ok {
		return nil, ch
	}
	c.flying[key] = make(chan struct{})
	return nil, nil
}

// put ends a question; nil: without an answer.
func (c *cache) put(key string, v *reused) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := c.flying[key]; ok {
		close(ch)
		delete(c.flying, key)
	}
	if v == nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry{key: key, val: *v})
	for c.order.Len() > c.most {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.byKey, last.Value.(*entry).key) //nolint:forcetypeassert,errcheck // only entries are put there
	}
}
