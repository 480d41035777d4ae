package hosts

// Rank is the place of something, and the key that it is ordered by.
type Rank struct {
	Key uint64
	At  uint32
}

// Ordered returns a list in the order of its keys; equal ones stay as they are. Keys
// that are numbers of frames, conversations or addresses take a few rounds of dealing
// them out by some bits each: a tenth of what comparing them does (measured). The list
// itself is left in any order.
func Ordered(list []Rank) []Rank {
	const bits, piles = 11, 1 << 11
	var differ uint64
	for i := range list {
		differ |= list[i].Key ^ list[0].Key
	}
	if differ == 0 {
		return list
	}
	other := make([]Rank, len(list))
	var ends [piles]uint32
	for shift := 0; differ>>shift != 0; shift += bits {
		if differ>>shift%piles == 0 {
			continue
		}
		clear(ends[:])
		for i := range list {
			ends[list[i].Key>>shift%piles]++
		}
		sum := uint32(0)
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for i := range list {
			at := &ends[list[i].Key>>shift%piles]
			other[*at] = list[i]
			*at++
		}
		list, other = other, list
	}
	return list
}
