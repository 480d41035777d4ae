// Package hosts gives the addresses of a capture small numbers, and holds what is
// known of hosts, pairs and services in tables whose keys are made of such numbers.
//
// # Why
//
// Whatever reads across conversations looks several things up for each of them: the
// client, the pair, the service. A map whose keys are addresses hashes and compares
// two dozen bytes each time, and the garbage collector reads all of it in each of its
// cycles, because an address holds a pointer. Here an address is looked up once for
// each conversation; what is made of its number is 64 bits, and no table has a
// pointer unless its values have. What is too long for a table's places stands in a
// list that never moves it.
//
// # Hostile addresses
//
// Who is captured chooses addresses and ports. The hashes are seeded, so that nobody
// can choose them to fall into one place; every table belongs to one reader, and its
// results do not depend on the seed: nothing walks a table in the order of places.
package hosts
