package estimator

import (
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// deviceRooms tells a packing which pods get devices. Vectors hold what sums can tell of
// devices; whether a filling is possible only the allocator knows, which is asked here.
// nil where no pod asks for devices.
type deviceRooms struct {
	s     *scheduling.Session
	kinds []int  // the session's kind of each kind
	asks  []bool // by kind
}

// newDeviceRooms is nil unless some of these kinds of the session ask for devices.
func newDeviceRooms(s *scheduling.Session, kinds []int) *deviceRooms {
	d := &deviceRooms{s: s, kinds: kinds, asks: make([]bool, len(kinds))}
	for i, k := range kinds {
		d.asks[i] = s.AsksDevices(k)
	}
	if !slices.Contains(d.asks, true) {
		return nil
	}
	return d
}

// take gives devices to up to n pods of a kind: what is left, and how many got theirs.
func (d *deviceRooms) take(k int, room scheduling.DeviceRoom, n int64) (scheduling.DeviceRoom, int64) {
	if d == nil || !d.asks[k] {
		return room, n
	}
	return d.s.TakeDevices(d.kinds[k], room, n)
}

// chain are the rooms after 0, 1, … up to n pods of a kind, as far as devices reach.
func (d *deviceRooms) chain(k int, room scheduling.DeviceRoom, n int64) []scheduling.DeviceRoom {
	out := []scheduling.DeviceRoom{room}
	for range n {
		next, got := d.take(k, room, 1)
		if got == 0 {
			break
		}
		room = next
		out = append(out, room)
	}
	return out
}

// searches counts how often the allocator was asked.
func (d *deviceRooms) searches() int {
	if d == nil {
		return 0
	}
	return d.s.DeviceSearches()
}

// give fills an empty room with what of a filling gets devices, tops it up in the order
// given by as many pods as more says, and keeps what gets devices kind by kind, as it will
// be bound.
func (d *deviceRooms) give(room scheduling.DeviceRoom, take []int64, order []int, more func(k int, take []int64) int64) []int64 {
	left, got := d.fill(room, take)
	for _, k := range order {
		if n := more(k, got); n > 0 {
			left, n = d.take(k, left, n)
			got[k] += n
		}
	}
	_, got = d.fill(room, got)
	return got
}

// fill gives devices to a filling kind by kind in order, as it will be bound: the room
// that is left, and what of the filling gets its devices.
func (d *deviceRooms) fill(room scheduling.DeviceRoom, take []int64) (scheduling.DeviceRoom, []int64) {
	got := slices.Clone(take)
	if d == nil {
		return room, got
	}
	for k, n := range take {
		if n > 0 {
			room, got[k] = d.take(k, room, n)
		}
	}
	return room, got
}

// allocated gives up the pods of a packing that get no devices when each node is filled
// kind by kind.
func (pr *problem) allocated(p *packing) *packing {
	if pr.devices == nil {
		return p
	}
	for i := range p.uses {
		u := &p.uses[i]
		_, got := pr.devices.fill(pr.bins[u.bin].room, u.take)
		for k := range got {
			p.left[k] += (u.take[k] - got[k]) * u.count
		}
		u.take = got
	}
	return p
}
