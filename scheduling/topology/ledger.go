package topology

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Unbounded is the room of a domain that is as large as its group may grow.
const Unbounded = int64(math.MaxInt64)

// Level is one level of a group's promise, outermost first in a Group.
type Level struct {
	Key string
	// Size is the most nodes of one domain; 0: the whole group is one domain.
	Size int64
}

// Group is what one node group promises.
type Group struct {
	Name   string
	Levels []Level
	// Labels are those of the group's new nodes; they name the domain of a level of size 0.
	Labels map[string]string
}

// Domain is a domain that a group's next node may join.
type Domain struct {
	Value string
	// Labels are the domains of the outer levels and this one.
	Labels map[string]string
	// Room is how many more nodes may join it and every domain around it.
	Room int64
}

// Ledger counts nodes by domain. It is not safe for concurrent use.
type Ledger struct {
	groups []Group
	keys   []string // every key that some group promises
	// count is the number of nodes, of any group or none, by key and value.
	count map[string]map[string]int64
	// own are the domains in which a group has nodes, by group and level.
	own [][]map[string]*owned
	// begun are those of own that are not full at their own level.
	begun [][]map[string]*owned
	// fresh is where the search for an unused value starts, by key and prefix.
	fresh map[[2]string]int
}

type owned struct {
	nodes  int64 // of this group
	labels map[string]string
}

// New returns the ledger of no nodes.
func New(groups []Group) *Ledger {
	l := &Ledger{groups: groups, count: map[string]map[string]int64{}, fresh: map[[2]string]int{}}
	for _, g := range groups {
		var own, begun []map[string]*owned
		for _, level := range g.Levels {
			own = append(own, map[string]*owned{})
			begun = append(begun, map[string]*owned{})
			if l.count[level.Key] == nil {
				l.count[level.Key] = map[string]int64{}
				l.keys = append(l.keys, level.Key)
			}
		}
		l.own, l.begun = append(l.own, own), append(l.begun, begun)
	}
	return l
}

// Level returns the position of a key in a group's promise, or -1.
func (l *Ledger) Level(group int, key string) int {
	return slices.IndexFunc(l.groups[group].Levels, func(v Level) bool { return v.Key == key })
}

// Add counts a node with these labels; group is -1 for a node of no group.
func (l *Ledger) Add(group int, labels map[string]string) { l.change(group, labels, 1) }

// Remove undoes Add.
func (l *Ledger) Remove(group int, labels map[string]string) { l.change(group, labels, -1) }

func (l *Ledger) change(group int, labels map[string]string, by int64) {
	for _, key := range l.keys {
		if v, ok := labels[key]; ok {
			l.count[key][v] += by
			l.forgetFresh(key, by)
		}
	}
	if group >= 0 {
		for i, level := range l.groups[group].Levels {
			if v, ok := labels[level.Key]; ok {
				l.changeOwn(group, i, v, labels, by)
			}
		}
	}
	for _, key := range l.keys {
		if v, ok := labels[key]; ok {
			l.settle(key, v)
		}
	}
}

// forgetFresh lets the search for unused values start anew when a value may be free again.
func (l *Ledger) forgetFresh(key string, by int64) {
	if by > 0 {
		return
	}
	maps.DeleteFunc(l.fresh, func(k [2]string, _ int) bool { return k[0] == key })
}

func (l *Ledger) changeOwn(group, level int, value string, labels map[string]string, by int64) {
	o := l.own[group][level][value]
	if o == nil {
		o = &owned{labels: map[string]string{}}
		for _, outer := range l.groups[group].Levels[:level+1] {
			if v, ok := labels[outer.Key]; ok {
				o.labels[outer.Key] = v
			}
		}
		l.own[group][level][value] = o
	}
	if o.nodes += by; o.nodes <= 0 {
		delete(l.own[group][level], value)
		delete(l.begun[group][level], value)
	}
}

// settle keeps begun for a domain whose number of nodes changed.
func (l *Ledger) settle(key, value string) {
	for g := range l.groups {
		i := l.Level(g, key)
		if i < 0 {
			continue
		}
		o := l.own[g][i][value]
		if o != nil && l.count[key][value] < l.groups[g].Levels[i].Size {
			l.begun[g][i][value] = o
		} else {
			delete(l.begun[g][i], value)
		}
	}
}

// whole is the label value of a level that makes the whole group one domain.
func (l *Ledger) whole(group int, key string) string {
	if v, ok := l.groups[group].Labels[key]; ok {
		return v
	}
	return l.groups[group].Name
}

// Joinable returns the domains of a key that the group's next node may join, by value.
// A key of size 0 has one, with Unbounded room. It returns nil for a key that the group
// does not promise.
func (l *Ledger) Joinable(group int, key string) []Domain {
	level := l.Level(group, key)
	if level < 0 {
		return nil
	}
	if l.groups[group].Levels[level].Size == 0 {
		labels := map[string]string{}
		for _, outer := range l.groups[group].Levels[:level+1] {
			labels[outer.Key] = l.whole(group, outer.Key)
		}
		return []Domain{{Value: labels[key], Labels: labels, Room: Unbounded}}
	}
	var out []Domain
	for _, v := range slices.Sorted(maps.Keys(l.begun[group][level])) {
		o := l.begun[group][level][v]
		if room := l.room(group, level, o.labels); room > 0 {
			out = append(out, Domain{Value: v, Labels: o.labels, Room: room})
		}
	}
	return out
}

// room is the least room of the levels from the outermost down to this one.
func (l *Ledger) room(group, level int, labels map[string]string) int64 {
	room := Unbounded
	for _, v := range l.groups[group].Levels[:level+1] {
		if at, ok := labels[v.Key]; ok && v.Size > 0 {
			room = min(room, v.Size-l.count[v.Key][at])
		}
	}
	return room
}

// Room is how many more nodes of the group may go into the domains of these labels.
func (l *Ledger) Room(group int, labels map[string]string) int64 {
	return l.room(group, len(l.groups[group].Levels)-1, labels)
}

// Size is the most nodes that a new domain of the key holds in this group: Unbounded for
// a level of size 0.
func (l *Ledger) Size(group int, key string) int64 {
	if size := l.groups[group].Levels[l.Level(group, key)].Size; size > 0 {
		return size
	}
	return Unbounded
}

// Next completes the place of the group's next node. Given domains are kept; at each
// further level it joins, from the innermost out, the begun domain with the least room
// that lies inside the given ones, and opens one named prefix-N where there is none.
func (l *Ledger) Next(group int, given map[string]string, prefix string) map[string]string {
	levels := l.groups[group].Levels
	if len(levels) == 0 {
		return nil
	}
	out := l.around(group, given)
	for i, level := range slices.Backward(levels) {
		if _, ok := out[level.Key]; ok {
			continue
		}
		if d, ok := l.fullest(group, i, out); ok {
			for k, v := range d.Labels {
				if _, fixed := out[k]; !fixed {
					out[k] = v
				}
			}
		}
	}
	for _, v := range levels {
		if _, ok := out[v.Key]; !ok {
			out[v.Key] = l.freshValue(v.Key, prefix)
		}
	}
	return out
}

// around adds to given domains those that they lie in, where nodes of the group are in
// them already.
func (l *Ledger) around(group int, given map[string]string) map[string]string {
	out := map[string]string{}
	for i, level := range l.groups[group].Levels {
		if o := l.own[group][i][given[level.Key]]; o != nil {
			maps.Copy(out, o.labels)
		}
	}
	maps.Copy(out, given)
	return out
}

func (l *Ledger) fullest(group, level int, fixed map[string]string) (Domain, bool) {
	all := l.Joinable(group, l.groups[group].Levels[level].Key)
	all = slices.DeleteFunc(all, func(d Domain) bool {
		for k, v := range d.Labels {
			if f, ok := fixed[k]; ok && f != v {
				return true
			}
		}
		return false
	})
	if len(all) == 0 {
		return Domain{}, false
	}
	return slices.MinFunc(all, func(a, b Domain) int {
		return cmp.Or(cmp.Compare(a.Room, b.Room), cmp.Compare(a.Value, b.Value))
	}), true
}

// Fresh returns the labels of a new domain of the key in this group: new at that level,
// inside the fullest begun domain of each outer level that has room for `nodes` more.
func (l *Ledger) Fresh(group int, key string, nodes int64, prefix string) map[string]string {
	level := l.Level(group, key)
	out := map[string]string{}
	for i := level - 1; i >= 0; i-- {
		if _, ok := out[l.groups[group].Levels[i].Key]; ok {
			continue
		}
		for _, d := range l.byRoom(group, i) {
			if d.Room >= nodes {
				maps.Copy(out, d.Labels)
				break
			}
		}
	}
	for _, v := range l.groups[group].Levels[:level+1] {
		if _, ok := out[v.Key]; ok {
			continue
		}
		if v.Size == 0 {
			out[v.Key] = l.whole(group, v.Key)
			continue
		}
		out[v.Key] = l.freshValue(v.Key, prefix)
	}
	return out
}

func (l *Ledger) byRoom(group, level int) []Domain {
	all := l.Joinable(group, l.groups[group].Levels[level].Key)
	slices.SortFunc(all, func(a, b Domain) int {
		return cmp.Or(cmp.Compare(a.Room, b.Room), cmp.Compare(a.Value, b.Value))
	})
	return all
}

// freshValue is the first of prefix-1, prefix-2, … that no node carries.
func (l *Ledger) freshValue(key, prefix string) string {
	at := [2]string{key, prefix}
	for i := l.fresh[at] + 1; ; i++ {
		v := fmt.Sprintf("%s-%d", prefix, i)
		if l.count[key][v] == 0 {
			l.fresh[at] = i - 1
			return v
		}
	}
}
