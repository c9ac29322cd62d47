package openb

import (
	"cmp"
	"slices"
	"strings"
)

// demand is what a task asks of a node.
type demand struct {
	cpuMilli  int64
	memoryMiB int64
	gpus      int64 // units of nvidia.com/gpu: devices or shares
	models    []string
}

// demandOf counts GPUs in units of which one device is sharesPerGPU. Of each GPU a
// fraction takes as many units as cover it: 460 thousandths are 5 shares of 10, or 1 of 1.
func demandOf(t task, sharesPerGPU int64) demand {
	return demand{
		cpuMilli:  t.cpuMilli,
		memoryMiB: t.memoryMiB,
		gpus:      t.gpus * ((t.gpuMilli*sharesPerGPU + 999) / 1000),
		models:    t.models,
	}
}

// room is what is free on a node.
type room struct {
	name      string
	model     string
	cpuMilli  int64
	memoryMiB int64
	gpus      int64
	pods      int64
}

// roomOf is an empty machine.
func roomOf(name string, s shape, sharesPerGPU int64) room {
	return room{name: name, model: s.model, cpuMilli: s.cpuMilli, memoryMiB: s.memoryMiB, gpus: s.gpus * sharesPerGPU, pods: podsPerNode}
}

func (r room) fits(d demand) bool {
	return d.cpuMilli <= r.cpuMilli && d.memoryMiB <= r.memoryMiB && d.gpus <= r.gpus && r.pods > 0 &&
		(len(d.models) == 0 || slices.Contains(d.models, r.model))
}

// place lays out running tasks on empty machines, which come sorted by name. It returns
// the node of each task; tasks without a place are absent.
func place(running []task, machines []machine, sharesPerGPU int64) map[string]string {
	rooms := make([]room, len(machines))
	for i, m := range machines {
		rooms[i] = roomOf(m.name, m.shape, sharesPerGPU)
	}
	inOrder := slices.Clone(running)
	slices.SortFunc(inOrder, func(a, b task) int {
		return cmp.Or(
			cmp.Compare(*a.scheduled, *b.scheduled), // 1. Scheduled earlier.
			strings.Compare(a.name, b.name),         // 2. Unique name.
		)
	})
	nodeOf := map[string]string{}
	for _, t := range inOrder {
		d := demandOf(t, sharesPerGPU)
		i, found := choose(rooms, d)
		if !found {
			continue
		}
		rooms[i].cpuMilli -= d.cpuMilli
		rooms[i].memoryMiB -= d.memoryMiB
		rooms[i].gpus -= d.gpus
		rooms[i].pods--
		nodeOf[t.name] = rooms[i].name
	}
	return nodeOf
}

// choose picks the node for a demand:
//
//  1. a demand without GPUs prefers machines without GPUs, which have no model;
//  2. a demand with GPUs prefers the machine that is left with the fewest;
//  3. the first machine by name.
func choose(rooms []room, d demand) (index int, found bool) {
	better := func(a, b room) bool {
		if d.gpus == 0 {
			return a.model == "" && b.model != ""
		}
		return a.gpus < b.gpus
	}
	for i, r := range rooms {
		if r.fits(d) && (!found || better(r, rooms[index])) {
			index, found = i, true
		}
	}
	return index, found
}
