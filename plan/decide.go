package plan

import (
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/estimator"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/snapshot"
)

// Options bound and shape a decision beyond the configuration.
type Options struct {
	// Budget of counted probes; the zero value is estimator.DefaultBudget.
	Budget estimator.Budget
	// Plugins asks the scheduler plugins for every pod and node: the slow reference.
	Plugins bool
}

// Decide is the decision for a cluster at a time. The error is bad input or a bug; what
// does not fit is in the plan.
func Decide(snap *snapshot.Snapshot, configuration *configv1alpha1.AutoscalerConfiguration, now time.Time, options Options) (*Plan, error) {
	d, err := newDecision(snap, configuration, now, options)
	if err != nil {
		return nil, err
	}
	if err := d.estimate(); err != nil {
		return nil, err
	}
	if err := d.prove(); err != nil {
		return nil, err
	}
	return d.plan(), nil
}

// decision is the working state of Decide.
type decision struct {
	snap          *snapshot.Snapshot
	configuration *configv1alpha1.AutoscalerConfiguration
	now           time.Time
	options       Options

	groups   []nodegroups.Status
	gangs    []gang.Gang
	warnings []string
	session  *scheduling.Session
	result   *estimator.Result
	passes   int
	excluded map[string]bool // gangs (estimator.ID) that no proven plan could serve
}

func newDecision(snap *snapshot.Snapshot, configuration *configv1alpha1.AutoscalerConfiguration, now time.Time, options Options) (*decision, error) {
	if options.Budget == (estimator.Budget{}) {
		options.Budget = estimator.DefaultBudget()
	}
	d := &decision{snap: snap, configuration: configuration, now: now.UTC(), options: options, excluded: map[string]bool{}}
	groups, err := nodegroups.New(configuration)
	if err != nil {
		return nil, &InputError{Err: err}
	}
	var more []string
	d.groups, more = nodegroups.Observe(groups, snap.Nodes(), snap.ResourceSlices(), d.now)
	for i := range d.groups {
		groups[i] = d.groups[i].Group
	}
	d.warnings = append(d.warnings, nodegroups.Warnings(groups, configuration.Limits)...)
	d.warnings = append(d.warnings, more...)
	d.gangs, more = gang.Pending(snap)
	d.warnings = append(d.warnings, more...)
	return d, nil
}

// scored says whether the proof must choose nodes by score.
func (d *decision) scored() bool { return d.configuration.Scheduler.Hints == configv1alpha1.HintsNone }

// estimate makes a session and lets the estimator fill it.
func (d *decision) estimate() error {
	var err error
	d.session, err = scheduling.NewSession(scheduling.Input{
		Snapshot: d.snap, Groups: d.groups, Gangs: d.gangs, Scoring: d.configuration.Scheduler.Scoring,
		FeatureGates: d.configuration.Scheduler.FeatureGates,
		Plugins:      d.options.Plugins, Scores: d.scored(),
	})
	if err != nil {
		return err
	}
	d.result, err = estimator.Estimate(d.input())
	return err
}

// mostPasses bounds how often a plan is mended before the gangs that keep failing are
// left out.
const mostPasses = 40

// prove plays the plan through a scheduler pass. Pods that the pass leaves unbound get
// further nodes, and the pass is played again; gangs that cannot be served so are left
// out and the estimate is made anew. A plan leaves here only when a pass binds all of it.
func (d *decision) prove() error {
	for d.passes = 1; ; d.passes++ {
		placed := d.session.Placements()
		outcome, err := d.session.Pass(placed, !d.scored())
		if err != nil {
			return err
		}
		if len(outcome.Unbound) == 0 {
			return d.session.Unbind(outcome.Intruders)
		}
		mended := false
		if d.passes%mostPasses != 0 {
			// Intruders keep their places meanwhile: that room is not to be counted on.
			if mended, err = estimator.Extend(d.input(), outcome.Unbound); err != nil {
				return err
			}
		}
		if err := d.session.Unbind(outcome.Intruders); err != nil {
			return err
		}
		if mended {
			continue
		}
		d.exclude(outcome.Unbound)
		if err := d.estimate(); err != nil {
			return err
		}
	}
}

// exclude leaves out the gangs of pods that the proof could not bind. Each call leaves
// out at least one, so prove ends.
func (d *decision) exclude(unbound []scheduling.Pod) {
	failed := map[string]bool{}
	for _, p := range unbound {
		failed[p.Namespace+"/"+p.Name] = true
	}
	for i := range d.session.Units {
		u := &d.session.Units[i]
		for _, p := range u.Pods {
			if failed[p.Namespace+"/"+p.Name] {
				d.excluded[estimator.ID(u)] = true
			}
		}
	}
}

func (d *decision) input() estimator.Input {
	return estimator.Input{
		Session: d.session, Now: d.now, Objective: d.configuration.Objective,
		Limits: d.configuration.Limits, Budget: d.options.Budget, Exclude: d.excluded,
	}
}
