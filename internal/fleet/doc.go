// Package fleet is the engines of many nodes as one [docker.Runtime]: that of this
// machine, and those of the machines that joined.
//
// The daemon makes one [Fleet]. The controllers of an app get the view of its placement
// ([Fleet.For]), in which a container is made on the node of its replica and found
// wherever it is; the API gets the view of all nodes ([Fleet.All]). Probes dial through
// the fleet too.
//
// A node that cannot be asked is away. What was last seen there is listed as it was, with
// Away set, and calls about it are [docker.ErrUnavailable] with the node's name. Only of a
// node that is gone, as its provider or its record says in so many words, or that is away
// and was given up by the app (Lost of its placement), containers are listed no more and
// are not found.
//
// What must never happen here: [docker.ErrNotFound] for what may still be on a node that
// is away; a second container of a name that may stand elsewhere; an empty volume made
// beside a full one on another node; anything of somebody else changed or removed; a
// decision about where something runs.
package fleet
