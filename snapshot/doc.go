// Package snapshot is the immutable input of one decision: what a cluster looked like
// at one instant, read from a dump, from watches or from a record. Whatever the order in
// which the objects arrived, and whatever format they came in, the same objects make a
// Snapshot with the same accessors, the same bytes in Write and the same Digest.
//
// It reads and checks; it decides nothing. It knows no node groups, no gangs and no time.
// It opens no files: callers hand it readers, and names for them that messages can use.
//
//	b := snapshot.NewBuilder()
//	if err := b.Read(file, "cluster.yaml"); err != nil {
//		return err // cluster.yaml: document 3 (line 120): Pod train/x: spec.containers[0].resources.requests[cpu]: "8x" is not a quantity
//	}
//	s, err := b.Build()
//	if err != nil {
//		return err
//	}
//	for _, pod := range s.Pods() { … }
//
// # Formats
//
// JSON objects (one, concatenated, or one a line), YAML documents, and the lists that
// kubectl writes in both (List, PodList, …; items of a typed list may leave out their
// apiVersion and kind). The format is recognised by its first character. Lists of JSON,
// YAML documents and large YAML lists are read one object at a time, so that memory
// follows the decoded objects and not the file. Two cases hold more: the items of a list
// that carry no kind while the list names its own only after them, and a large YAML
// document that is no list.
//
// # What is changed on reading
//
// Filled in as the API server or its admission would have, for dumps written by hand:
//
//   - metadata.namespace of a namespaced object: "default".
//   - spec.schedulerName of a pod or pod template: "default-scheduler".
//   - requests of a container (or of a pod's own resources) from its limits, per resource,
//     where it has none.
//   - spec.priority, and spec.preemptionPolicy where empty, of pods and PodGroups without a
//     priority: from the PriorityClass they name, from the two system classes that every
//     cluster has, or from the global default (the one with the lowest value).
//
// PodGroups and Workloads of scheduling.k8s.io/v1alpha2 and v1alpha3 become v1beta1.
//
// Dropped, because no decision looks at it:
//
//   - everywhere: metadata.managedFields, metadata.selfLink and kubectl's
//     last-applied-configuration annotation.
//   - nodes: status.images, addresses, daemonEndpoints, volumesInUse, volumesAttached,
//     config.
//   - containers of pods and pod templates: command, args, workingDir, env, envFrom, probes,
//     lifecycle, securityContext, resizePolicy, terminal and termination-message settings,
//     imagePullPolicy, volumeDevices, and volumeMounts without bindMountOptions.
//   - pods and pod templates: ephemeralContainers, securityContext, imagePullSecrets,
//     dnsConfig, hostAliases, readinessGates, and volumes that are a configMap, a secret,
//     a downwardAPI or a projection.
//   - pods: status.hostIP(s), podIP(s), ephemeralContainerStatuses, volumeHealth; of
//     container statuses all but the resources that a resize in progress has granted.
//
// # What is checked
//
// An error names the source, the document, the line where it starts, the object and the
// field: syntax, wrong types, bad or negative quantities, missing names, and two objects of
// one name that differ. Things that do not fit together but leave something to decide on are
// Warnings: unknown kinds, versions and fields, exact duplicates, and references to objects
// that the dump does not hold. Ten warnings of one sort are listed, the rest are counted.
package snapshot
