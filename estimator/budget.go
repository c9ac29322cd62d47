package estimator

// Budget bounds the work of one decision in counted probes, never in time, so that the
// same input gives the same answer on every machine.
type Budget struct {
	// Patterns is the most steps of one search for a filling of one node.
	Patterns int
	// Rounds is how often a linear program gets new fillings.
	Rounds int
	// Pivots is the most steps of one linear program.
	Pivots int
	// Exact is the most states that the search for small cases opens.
	Exact int
	// Repairs is how often the whole packing is tried again for a gang that the simple
	// insertion could not place.
	Repairs int
}

// DefaultBudget decides 100,000 pods of 50 kinds within seconds.
func DefaultBudget() Budget {
	return Budget{Patterns: 32000, Rounds: 400, Pivots: 4000, Exact: 30000, Repairs: 64}
}

// Stats counts what a decision looked at.
type Stats struct {
	// Options is the number of fillings, domains and strategies that were compared.
	Options int
	// Truncated says that some search was cut off by its budget, so that a better plan may exist.
	Truncated bool
}
