// Package sku says how large an instance of a SKU is.
//
// [New] makes a [Catalog] from an operator's tiers and from the SKUs that stand for
// them; [Catalog.Resolve] finds the tier of a SKU that a lease names. The wiring of a
// backend makes the catalogue once, at its start, and hosting asks it for every item
// of a lease.
//
// Quantities are whole thousandths of a core and whole MB, 1 MB being 1<<20 bytes, so
// that a sum is exact in any order. Cores with a fraction exist on the wire and in
// configuration alone; [MilliCPU] and [Cores] are the border.
//
// What must never happen here: a size that is zero where zero would mean no limit, a
// sum that wraps around, a tier that promises a disk which nothing keeps to its size
// without the operator having said so.
package sku
