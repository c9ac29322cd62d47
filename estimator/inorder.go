package estimator

import (
	"fmt"
	"maps"
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// inOrder places units one after the other in the order in which they are served; a unit
// that finds no room blocks none of the later ones. Pods past a gang's minimum come last,
// so that they take nothing from another gang. Afterwards everything accepted is packed
// together again, which is kept when it costs less.
func (e *estimator) inOrder(units []int, mark int) ([]Refusal, error) {
	var accepted, refused []int
	extras := map[int][]scheduling.Pod{}
	full := map[string]bool{} // signatures that no longer fit
	repairs := e.repairs(units)
	for _, i := range units {
		u := &e.s.Units[i]
		sig := e.signature(u)
		if full[sig] {
			refused = append(refused, i)
			continue
		}
		ok, err := e.placeMinimum(u)
		if err == nil && !ok && repairs > 0 {
			repairs--
			ok, err = e.repair(append(slices.Clone(accepted), i), mark)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			full[sig] = true
			refused = append(refused, i)
			continue
		}
		accepted = append(accepted, i)
	}
	if repairs == 0 {
		e.result.Stats.Truncated = true
	}
	accepted, refused, err := e.tryAgain(accepted, refused)
	if err != nil {
		return nil, err
	}
	var out []Refusal
	for _, i := range refused {
		out = append(out, Refusal{Unit: i, Pods: e.s.Units[i].Pods})
	}
	more, err := e.placeExtras(accepted, extras)
	if err != nil {
		return nil, err
	}
	out = append(out, more...)
	return out, e.packAgain(accepted, extras, mark)
}

// repairs is how often everything may be packed anew: less often the more there is.
func (e *estimator) repairs(units []int) int {
	pods := 1
	for _, i := range units {
		pods += len(e.s.Units[i].Pods)
	}
	return max(min(e.Budget.Repairs, 20000/pods), 2)
}

// tryAgain gives refused units that look at other pods another chance for as long as one
// of them finds a place: what they look for may have been placed after them.
func (e *estimator) tryAgain(accepted, refused []int) (in, out []int, err error) {
	for progress := true; progress; {
		progress = false
		var still []int
		for _, i := range refused {
			u := &e.s.Units[i]
			ok := false
			if u.Required == "" && !e.packs(u) {
				if ok, err = e.placeMinimum(u); err != nil {
					return nil, nil, err
				}
			}
			if ok {
				accepted, progress = append(accepted, i), true
			} else {
				still = append(still, i)
			}
		}
		refused = still
	}
	slices.Sort(accepted)
	return accepted, refused, nil
}

// useLeftovers places, in order, refused units that fit the nodes as they are now: the
// scheduler would bind them there in any case. Gangs with a topology key had their chance
// on every domain.
func (e *estimator) useLeftovers(refused []Refusal) ([]Refusal, error) {
	slices.SortFunc(refused, func(a, b Refusal) int { return a.Unit - b.Unit })
	clear(e.next)
	full := map[string]bool{}
	var out []Refusal
	for _, r := range refused {
		u := &e.s.Units[r.Unit]
		sig := e.signature(u)
		whole := len(r.Pods) == len(u.Pods)
		if u.Required != "" || !whole || full[sig] || e.Exclude[ID(u)] {
			out = append(out, r)
			continue
		}
		mark, saved := e.s.Mark(), slices.Clone(e.next)
		ok, err := e.insert(e.minimum(u), []int{})
		if err != nil {
			return nil, err
		}
		if !ok {
			if err := e.s.Rollback(mark); err != nil {
				return nil, err
			}
			e.next = saved
			full[sig] = true
			out = append(out, r)
			continue
		}
		if rest := u.Pods[len(e.minimum(u)):]; len(rest) > 0 {
			out = append(out, Refusal{Unit: r.Unit, Pods: rest})
		}
	}
	return out, nil
}

// placeMinimum places the unit's minimum; nothing changes when it does not fit.
func (e *estimator) placeMinimum(u *scheduling.Unit) (bool, error) {
	mark, saved := e.s.Mark(), slices.Clone(e.next)
	ok, err := e.place(u, e.minimum(u))
	if err != nil || ok {
		return ok, err
	}
	e.next = saved
	return false, e.s.Rollback(mark)
}

// placeExtras gives the pods past the minimum of accepted units a place where there is
// one left. Those that get none are refused, pod by pod.
func (e *estimator) placeExtras(accepted []int, placed map[int][]scheduling.Pod) ([]Refusal, error) {
	var out []Refusal
	full := map[string]bool{}
	for _, i := range accepted {
		u := &e.s.Units[i]
		var left []scheduling.Pod
		for _, p := range u.Pods[len(e.minimum(u)):] {
			sig := fmt.Sprint(p.Kind)
			if u.Required != "" {
				sig = u.Key() + " " + sig // its domain is chosen
			}
			ok := !full[sig]
			if ok {
				var err error
				if ok, err = e.placeExtra(u, p); err != nil {
					return nil, err
				}
			}
			if !ok {
				full[sig] = true
				left = append(left, p)
				continue
			}
			placed[i] = append(placed[i], p)
		}
		if len(left) > 0 {
			out = append(out, Refusal{Unit: i, Pods: left})
		}
	}
	return out, nil
}

func (e *estimator) placeExtra(u *scheduling.Unit, p scheduling.Pod) (bool, error) {
	mark, saved := e.s.Mark(), slices.Clone(e.next)
	ok, err := e.place(u, []scheduling.Pod{p})
	if err != nil || ok {
		return ok, err
	}
	e.next = saved
	return false, e.s.Rollback(mark)
}

// repair packs the minimum of all these units from nothing; the session changes only when
// everything fits.
func (e *estimator) repair(units []int, mark int) (bool, error) {
	before := e.capture()
	if err := e.rewind(mark); err != nil {
		return false, err
	}
	ok, err := e.packMinimums(units, nil)
	if err != nil || ok {
		return ok, err
	}
	if err := e.rewind(mark); err != nil {
		return false, err
	}
	return false, e.restore(before)
}

// packMinimums places what packs does not cover unit by unit, then all else together.
func (e *estimator) packMinimums(units []int, extras map[int][]scheduling.Pod) (bool, error) {
	var packed []piece
	for _, i := range units {
		u := &e.s.Units[i]
		pods := append(slices.Clone(e.minimum(u)), extras[i]...)
		if e.packs(u) {
			packed = append(packed, piece{pods})
			continue
		}
		if ok, err := e.place(u, pods); err != nil || !ok {
			return false, err
		}
	}
	return e.packAll(packed)
}

// packAgain packs everything accepted together and keeps the result when it is better
// than what placing one after the other gave.
func (e *estimator) packAgain(accepted []int, extras map[int][]scheduling.Pod, mark int) error {
	before, was := e.capture(), e.total()
	if err := e.rewind(mark); err != nil {
		return err
	}
	ok, err := e.packMinimums(accepted, extras)
	if err != nil {
		return err
	}
	// One after the other, pods without accelerators may have taken room for which an
	// accelerator group then had to grow: that is not kept even where it costs less.
	if now := e.total(); ok && (now.less(was) || now.tie[0] < was.tie[0] && e.someWithoutAccelerators(accepted)) {
		return nil
	}
	if err := e.rewind(mark); err != nil {
		return err
	}
	return e.restore(before)
}

func (e *estimator) someWithoutAccelerators(units []int) bool {
	return slices.ContainsFunc(units, func(i int) bool {
		return slices.ContainsFunc(e.s.Units[i].Pods, func(p scheduling.Pod) bool { return !e.s.Kinds[p.Kind].AsksAccelerator })
	})
}

// saved is all that a decision did to the session since a mark.
type saved struct {
	opened []openedNode
	binds  []scheduling.Placement
	next   []int
}

type openedNode struct {
	group  int
	labels map[string]string
}

// capture records what was done since the decision began. Nodes opened before it (to
// reach a minimum size) are already there when it is restored.
func (e *estimator) capture() saved { return e.captureSince(e.start, e.fixed) }

// captureSince records what was bound since a mark, and opened from this node on.
func (e *estimator) captureSince(mark, first int) saved {
	return saved{next: slices.Clone(e.next), opened: e.openedSince(first), binds: e.s.BoundSince(mark)}
}

func (e *estimator) openedSince(first int) []openedNode {
	var out []openedNode
	for n := first; n < len(e.s.Nodes); n++ {
		node := &e.s.Nodes[n]
		out = append(out, openedNode{group: node.Group, labels: e.promised(node)})
	}
	return out
}

// promised are the topology labels of an opened node.
func (e *estimator) promised(n *scheduling.Node) map[string]string {
	out := map[string]string{}
	for _, l := range e.s.Groups[n.Group].Topology {
		out[l.Key] = n.Labels[l.Key]
	}
	return out
}

func (e *estimator) restore(s saved) error {
	for _, o := range s.opened {
		e.s.Open(o.group, maps.Clone(o.labels))
	}
	for _, b := range s.binds {
		if err := e.s.Bind(b.Pod, b.Node); err != nil {
			return err
		}
	}
	e.next = slices.Clone(s.next)
	return nil
}
