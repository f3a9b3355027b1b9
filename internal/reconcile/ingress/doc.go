// Package ingress keeps the data plane's route table equal to the active
// releases.
//
// The [Link] follows the data plane's reports and is what the application
// controller asks whether a table was taken and what is still in flight. The
// [Controller], run by internal/reconcile under [Key], pushes the table
// whenever the store has a newer one than the data plane has acknowledged in
// its current epoch.
//
// The [ClusterController], under [ClusterKey], does the same with what the data plane takes
// the agents of nodes with, so that it reaches targets on them by itself.
//
// What must never happen here: choosing a target. Which containers take
// traffic is the active release's row and nothing else.
package ingress
