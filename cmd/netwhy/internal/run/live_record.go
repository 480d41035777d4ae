package run

import (
	"netwhy/capture"
	"netwhy/capture/packet"
)

// beginRecording opens what -w names, as the user that netwhy has become.
func (c *liveRun) beginRecording() (err error) {
	if c.opt.Record.Path == "" {
		return nil
	}
	o := c.opt.Record
	o.Application = "netwhy " + c.w.Version
	c.rec, err = capture.NewRecording(o, func() []capture.Interface { return c.src.Info().Interfaces })
	return err
}

// tap gets every frame before any is shed. A recording that ends early costs
// the analysis nothing.
func (c *liveRun) tap(b *packet.Batch) {
	if c.rec != nil && c.recErr == nil {
		if c.recErr = c.rec.Write(b); c.recErr != nil {
			err := c.recErr
			c.soon(func() { c.say("%v", err) })
		} else {
			c.recorded.Add(uint64(len(b.Frames)))
		}
	}
	if c.ring != nil {
		c.ring.Add(b)
	}
}

// endRecording closes the file; the tap has seen its last batch.
func (c *liveRun) endRecording() error {
	if c.rec == nil {
		return nil
	}
	err := c.rec.Close()
	if err != nil && c.recErr == nil {
		c.say("%v", err)
	}
	return err
}
