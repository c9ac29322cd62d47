// Package drawn draws random clusters for property tests: nodes, pods, volumes and node
// groups, with every feature that a scheduling rule looks at, in small worlds where things
// collide. Equal seeds give equal clusters, so a failure is repeated by its seed.
//
// It decides nothing, and only tests use it. It knows neither the scheduling code nor the
// plugins, since the tests of both draw from here, and it does not say what the right
// answers are: a test compares two ways to answer. Clusters are not realistic, either;
// a benchmark needs others.
//
// Example:
//
//	for seed := uint64(1); seed <= 100; seed++ {
//		cluster := drawn.New(seed)
//		snap, err := snapshot.New(cluster.Objects()...)
//		require.Equal(t, slow(snap, cluster.Pending), fast(snap, cluster.Pending), "seed %d", seed)
//	}
package drawn
