package openb

import (
	"cmp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// demand is what a task asks of a node.
type demand struct {
	cpuMilli  int64
	memoryMiB int64
	gpus      int64 // devices of a node's room that it takes units of
	units     int64 // of each of them
	models    []string
}

// demandOf counts GPUs in the units of the offer. Of each GPU a fraction takes as many
// units as cover it: 460 thousandths are 460 units of 1000, 5 of 10, or 1 of 1. A device
// plugin knows only their sum, so there they come from one place.
func demandOf(t task, offered offer) demand {
	d := demand{
		cpuMilli:  t.cpuMilli,
		memoryMiB: t.memoryMiB,
		gpus:      t.gpus,
		units:     (t.gpuMilli*offered.units + milliPerGPU - 1) / milliPerGPU,
		models:    t.models,
	}
	if t.gpus > 0 && !offered.dra {
		d.gpus, d.units = 1, d.units*t.gpus
	}
	return d
}

// room is what is free on a node.
type room struct {
	name      string
	model     string
	cpuMilli  int64
	memoryMiB int64
	devices   []int64 // units free on each; with a device plugin, one with the sum
	units     int64   // sum of devices
	pods      int64
}

// roomOf is an empty machine.
func roomOf(name string, s shape, offered offer) room {
	r := room{name: name, model: s.model, cpuMilli: s.cpuMilli, memoryMiB: s.memoryMiB, units: s.gpus * offered.units, pods: podsPerNode}
	if offered.dra {
		r.devices = slices.Repeat([]int64{offered.units}, int(s.gpus))
	} else {
		r.devices = []int64{r.units}
	}
	return r
}

func (r *room) fits(d demand) bool {
	return d.cpuMilli <= r.cpuMilli && d.memoryMiB <= r.memoryMiB && r.pods > 0 && r.hasDevices(d) &&
		(len(d.models) == 0 || slices.Contains(d.models, r.model))
}

func (r *room) hasDevices(d demand) bool {
	if d.gpus*d.units > r.units || tooManyToClaim(d) {
		return false
	}
	missing := d.gpus
	for _, free := range r.devices {
		if missing == 0 {
			break
		}
		if free >= d.units {
			missing--
		}
	}
	return missing == 0
}

// tooManyToClaim: the API bounds the devices of a claim. The one sum of a device plugin is
// never too many.
func tooManyToClaim(d demand) bool { return d.gpus > resourcev1.AllocationResultsMaxSize }

// take gives a demand that fits its part, and says which devices: the first with room, as
// the scheduler's allocator takes them.
func (r *room) take(d demand) []int {
	r.cpuMilli -= d.cpuMilli
	r.memoryMiB -= d.memoryMiB
	r.units -= d.gpus * d.units
	r.pods--
	var taken []int
	for i := range r.devices {
		if int64(len(taken)) == d.gpus {
			break
		}
		if r.devices[i] >= d.units {
			r.devices[i] -= d.units
			taken = append(taken, i)
		}
	}
	return taken
}

// seat is where a running task is; the zero seat is nowhere.
type seat struct {
	node    string
	devices []int // of its room, by number: those of the node, or the one sum of a device plugin
}

// place lays out running tasks on empty machines, which come sorted by name. It returns
// the seat of each task; tasks without a place are absent.
func place(running []task, machines []machine, offered offer) map[string]seat {
	rooms := make([]room, len(machines))
	for i, m := range machines {
		rooms[i] = roomOf(m.name, m.shape, offered)
	}
	inOrder := slices.Clone(running)
	slices.SortFunc(inOrder, func(a, b task) int {
		return cmp.Or(
			cmp.Compare(*a.scheduled, *b.scheduled), // 1. Scheduled earlier.
			strings.Compare(a.name, b.name),         // 2. Unique name.
		)
	})
	seats := map[string]seat{}
	for _, t := range inOrder {
		d := demandOf(t, offered)
		i, found := choose(rooms, d)
		if !found {
			continue
		}
		seats[t.name] = seat{node: rooms[i].name, devices: rooms[i].take(d)}
	}
	return seats
}

// choose picks the node for a demand:
//
//  1. a demand without GPUs prefers machines without GPUs, which have no model;
//  2. a demand with GPUs prefers the machine that is left with the fewest;
//  3. the first machine by name.
func choose(rooms []room, d demand) (index int, found bool) {
	better := func(a, b *room) bool {
		if d.gpus == 0 {
			return a.model == "" && b.model != ""
		}
		return a.units < b.units
	}
	for i := range rooms {
		if r := &rooms[i]; r.fits(d) && (!found || better(r, &rooms[index])) {
			index, found = i, true
		}
	}
	return index, found
}
