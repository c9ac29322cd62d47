package devices

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tidegate.io/autoscaler/scheduling/internal/kubesched"
)

// State numbers what is taken of the devices of a view, or of the network's devices.
// Equal states have the same number.
type State int

// Demand numbers the claims of a pod that are to be allocated together. 0 is none.
type Demand int

// Store remembers views, states, demands and outcomes. It is not safe for concurrent use.
type Store struct {
	kube  *kubesched.Devices
	reads reads
	net   network

	views  []view
	viewOf map[string]View

	states  []state
	stateOf map[string]State

	demands  [][]*resourcev1.ResourceClaim
	demandOf map[string]Demand

	outcomes map[step]*Outcome
	forget   bool
	searches int
	measures []measure
	signs    []signature
	uses     map[Demand][]int64
}

// state is what is taken of a view; view is -1 for the network's devices.
type state struct {
	view  View
	taken map[kubesched.DeviceID]kubesched.Taken
	free  []int64 // by measure; nil until asked for
}

type step struct {
	state, network State
	demand         Demand
}

// Outcome is what allocating a demand in a state gives.
type Outcome struct {
	Fits bool
	// State and Network are what is taken then; as before where it does not fit.
	State, Network State
	// Results are one for each claim of the demand, in the view's names.
	Results []resourcev1.AllocationResult
	// Err is an AllocationError: the real plugin would give the pod up on this node.
	Err error
}

// Input is what a store is made of.
type Input struct {
	Kube *kubesched.Devices
	// Network are the slices that are not of one node.
	Network []*resourcev1.ResourceSlice
	// Expressions are all CEL expressions that may be asked about devices.
	Expressions []string
	// Constraints are the attributes that constraints compare.
	Constraints []resourcev1.FullyQualifiedName
	// Forget makes the store ask the allocator each time: the slow reference.
	Forget bool
}

// NewStore makes an empty store.
func NewStore(in Input) *Store {
	s := &Store{kube: in.Kube, reads: newReads(in.Expressions, in.Constraints), net: newNetwork(in.Network), forget: in.Forget,
		viewOf: map[string]View{}, stateOf: map[string]State{}, demandOf: map[string]Demand{"": 0}, demands: [][]*resourcev1.ResourceClaim{nil},
		outcomes: map[step]*Outcome{}, uses: map[Demand][]int64{}}
	s.intern(state{view: -1})
	return s
}

// HasNetwork says whether any device is seen by several nodes.
func (s *Store) HasNetwork() bool { return len(s.net.slices) > 0 }

// Network is the state of the network's devices with nothing taken.
func (s *Store) Network() State { return 0 }

// Fresh is a view with nothing taken.
func (s *Store) Fresh(v View) State { return s.intern(state{view: v}) }

func (s *Store) intern(x state) State {
	var key strings.Builder
	fmt.Fprintf(&key, "%d", x.view)
	for _, id := range sortedIDs(x.taken) {
		t := x.taken[id]
		fmt.Fprintf(&key, "|%s/%s/%s", id.Driver, id.Pool, id.Device)
		if t.Exclusive {
			key.WriteByte('!')
		}
		if t.Consumed == nil {
			continue
		}
		key.WriteByte('~')
		for _, name := range slices.Sorted(maps.Keys(t.Consumed)) {
			q := t.Consumed[name]
			fmt.Fprintf(&key, "%s=%s,", name, q.AsDec())
		}
	}
	if n, ok := s.stateOf[key.String()]; ok {
		return n
	}
	n := State(len(s.states))
	s.stateOf[key.String()] = n
	s.states = append(s.states, x)
	return n
}

func sortedIDs(taken map[kubesched.DeviceID]kubesched.Taken) []kubesched.DeviceID {
	ids := slices.Collect(maps.Keys(taken))
	slices.SortFunc(ids, func(a, b kubesched.DeviceID) int {
		return strings.Compare(a.Driver+"/"+a.Pool+"/"+a.Device, b.Driver+"/"+b.Pool+"/"+b.Device)
	})
	return ids
}

// DemandOf interns claims by what the allocator reads of them.
func (s *Store) DemandOf(claims []*resourcev1.ResourceClaim) Demand {
	var key strings.Builder
	for _, c := range claims {
		devices := c.Spec.Devices
		devices.Config = nil // for the driver
		// Marshalling API types cannot fail.
		data, _ := json.Marshal(devices)
		fmt.Fprintf(&key, "%s/%s %s\n", c.Namespace, c.Name, data)
	}
	if d, ok := s.demandOf[key.String()]; ok {
		return d
	}
	d := Demand(len(s.demands))
	s.demandOf[key.String()] = d
	s.demands = append(s.demands, claims)
	return d
}

// Allocate gives devices to a demand on a node in this state.
func (s *Store) Allocate(at, network State, d Demand) *Outcome {
	key := step{at, network, d}
	if o, ok := s.outcomes[key]; ok && !s.forget {
		return o
	}
	o := &Outcome{State: at, Network: network}
	s.outcomes[key] = o
	if d == 0 {
		o.Fits = true
		return o
	}
	x, net := s.states[at], s.states[network]
	v := &s.views[x.view]
	taken := x.taken
	if len(net.taken) > 0 {
		taken = maps.Clone(x.taken)
		if taken == nil {
			taken = map[kubesched.DeviceID]kubesched.Taken{}
		}
		maps.Copy(taken, net.taken)
	}
	offered := v.slices
	if len(s.net.slices) > 0 {
		offered = slices.Concat(v.slices, s.net.slices)
	}
	s.searches++
	results, err := s.kube.Allocate(v.node, offered, taken, s.demands[d])
	if err != nil || results == nil {
		o.Err = err
		return o
	}
	o.Fits, o.Results = true, results
	for i := range results {
		o.State, o.Network = s.Give(o.State, o.Network, results[i].Devices.Results)
	}
	return o
}

// Searches counts how often the allocator was asked.
func (s *Store) Searches() int { return s.searches }

// Give counts devices as taken that a claim has already, in the view's names.
func (s *Store) Give(at, network State, results []resourcev1.DeviceRequestAllocationResult) (State, State) {
	local, net := s.states[at], s.states[network]
	local.taken, net.taken = maps.Clone(local.taken), maps.Clone(net.taken)
	local.free, net.free = nil, nil
	for i := range results {
		r := &results[i]
		if r.AdminAccess != nil && *r.AdminAccess {
			continue // It reserves nothing.
		}
		if s.net.pools[poolID{r.Driver, r.Pool}] {
			take(&net, r)
		} else {
			take(&local, r)
		}
	}
	return s.intern(local), s.intern(net)
}

func take(x *state, r *resourcev1.DeviceRequestAllocationResult) {
	if x.taken == nil {
		x.taken = map[kubesched.DeviceID]kubesched.Taken{}
	}
	id := kubesched.DeviceID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
	t := x.taken[id]
	if r.ShareID == nil {
		t.Exclusive = true
		x.taken[id] = t
		return
	}
	sum := map[resourcev1.QualifiedName]resource.Quantity{}
	maps.Copy(sum, t.Consumed)
	for name, q := range r.ConsumedCapacity {
		have := sum[name]
		total := have.DeepCopy()
		total.Add(q)
		sum[name] = total
	}
	t.Consumed = sum
	x.taken[id] = t
}
