package openb

import (
	"fmt"
	"maps"
	"slices"
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// Mode says what a pod gets that asks for a fraction of one GPU.
type Mode string

// The modes. The zero Mode is Whole.
const (
	// Whole gives a whole GPU for any fraction of one.
	Whole Mode = "whole"
	// Share gives a pod its fraction: with a device plugin as many of SharesPerGPU shares
	// as cover it, with ResourceSlices the exact thousandths of one device.
	Share Mode = "share"
)

// SharesPerGPU is how often Share offers each GPU with a device plugin. Rounding up to tenths adds 11 % to
// what the fractions of the published default table ask for; twentieths would add 5 %,
// but nobody runs a GPU of twenty tenants.
const SharesPerGPU = 10

// MaxSize says how far the node groups may grow.
type MaxSize string

// The bounds. The zero MaxSize is Unlimited without Options.At and Fleet with it.
const (
	// Unlimited lets every group hold the whole trace at one pod per node: the number of
	// pods rounded up to a power of ten, 10,000 at least.
	Unlimited MaxSize = "unlimited"
	// Fleet lets a group grow to as many machines of its shape as the trace has.
	Fleet MaxSize = "fleet"
)

// Options says which moment of the trace to import, and how.
type Options struct {
	// At is a second of the trace. Nil: all pods are pending at once and there are no nodes.
	At *int64
	// GPU says what a fraction of a GPU becomes.
	GPU Mode
	// Devices says how GPUs are offered and asked for; the zero value is DevicesPlugin.
	Devices configv1alpha1.Devices
	// MaxSize says how far the node groups may grow.
	MaxSize MaxSize
	// Prices per hour replace the defaults. A key is a node group's name (the price is
	// one machine's) or a GPU model's (the price is one GPU's); the group wins.
	Prices map[string]configv1alpha1.MicroDollars
}

const (
	// milliPerGPU is the whole of a GPU in the trace's thousandths.
	milliPerGPU = 1000
	// maxSeconds bounds times of the trace to a century, so that no date overflows.
	maxSeconds = 100 * 365 * 24 * 3600
	// maxPrice, 100,000 dollars per hour, is the most that a configuration accepts for a node.
	maxPrice = 100_000_000_000
)

// Epoch is the moment that the trace's second 0 stands for.
func Epoch() time.Time { return time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC) }

// DecisionTime is the wall clock at Options.At, for a plan of the imported moment.
// Without At there is no such moment; it returns Epoch, when no pod has waited yet.
func DecisionTime(opts Options) time.Time {
	if opts.At == nil {
		return Epoch()
	}
	return clock(*opts.At)
}

// clock turns a second of the trace into a date.
func clock(second int64) time.Time {
	return Epoch().Add(time.Duration(second) * time.Second)
}

// withDefaults checks opts and fills what was left out.
func (o Options) withDefaults() (Options, error) {
	if o.At != nil && (*o.At < 0 || *o.At > maxSeconds) {
		return o, fmt.Errorf("at: %d is not a second of the trace (0 to %d)", *o.At, int64(maxSeconds))
	}
	switch o.GPU {
	case "":
		o.GPU = Whole
	case Whole, Share:
	default:
		return o, fmt.Errorf("gpu: %q is neither %q nor %q", o.GPU, Whole, Share)
	}
	switch o.Devices {
	case "":
		o.Devices = configv1alpha1.DevicesPlugin
	case configv1alpha1.DevicesPlugin, configv1alpha1.DevicesDRA:
	default:
		return o, fmt.Errorf("devices: %q is neither %q nor %q", o.Devices, configv1alpha1.DevicesPlugin, configv1alpha1.DevicesDRA)
	}
	switch {
	case o.MaxSize == Unlimited || o.MaxSize == Fleet:
	case o.MaxSize != "":
		return o, fmt.Errorf("maxSize: %q is neither %q nor %q", o.MaxSize, Unlimited, Fleet)
	case o.At == nil:
		o.MaxSize = Unlimited
	default:
		o.MaxSize = Fleet
	}
	for _, key := range slices.Sorted(maps.Keys(o.Prices)) {
		if price := o.Prices[key]; price < 0 || price > maxPrice {
			return o, fmt.Errorf("prices: %s: %d micro-dollars per hour is not between 0 and %d", quoted(key), price, int64(maxPrice))
		}
	}
	return o, nil
}

// offer says how the GPUs of a machine are handed out.
type offer struct {
	units int64 // that each GPU consists of
	// dra: each device has units of its own. Otherwise a machine has one sum of them.
	dra bool
}

func (o Options) offer() offer {
	dra := o.Devices == configv1alpha1.DevicesDRA
	switch {
	case o.GPU != Share:
		return offer{units: 1, dra: dra}
	case dra:
		return offer{units: milliPerGPU, dra: true}
	}
	return offer{units: SharesPerGPU}
}

// shared: a device may have several tenants.
func (o offer) shared() bool { return o.units > 1 }
