// Package capture reads frames: from capture files, from standard input while
// it is still being written, and (in its own file) from a live interface. It
// gives each frame its number, its time and its interface, and hands frames on
// in batches. It never looks into a frame.
//
// # The walk of a frame
//
//   - rawFile reads the file, or waits for a pipe in a way that ctx can end.
//   - decompressed, if the first bytes say gzip, zstd or lz4: its own goroutine
//     unpacks ahead, at most 1 MiB.
//   - reader.next reads a block of 256 KiB straight into a batch's buffer.
//   - pcapReader or pcapngReader walks the records in that buffer and appends a
//     packet.Frame for each: where it lies, its time, its lengths. No byte is
//     moved. A record that the block cuts is carried over to the next batch.
//   - merger, for several files only, copies frames into one timeline.
//   - filter drops what a BPF expression does not match, one call a batch.
//   - File.Next numbers the batch, renews the snapshot of Info, and lets go.
//
// A batch leaves as soon as the file has nothing more at the moment, so that
// the frames of "tcpdump -U -w - | netwhy replay -" are there when they are sent.
//
// # What is kept to
//
//   - A frame's number is its place in the file (in the merged timeline for
//     several), also behind a filter: what Wireshark shows for the unfiltered file.
//   - The type of a file is told from its content, never from its name.
//   - All before a fault is handed on; the fault itself ends that file only, and
//     is kept in Info with frame and byte. One bad file of several is left out.
//   - Memory follows what was read, never what a length claims: a block of 4 GiB
//     is an error or is passed over, and allocates nothing.
//   - Times are integers of nanoseconds from the file to the report. A frame that
//     carries none (a simple packet block) is lent the time of the one before it.
//
// # Why readers of our own
//
// gopacket's pcapgo copies or allocates per packet (760 ns against 150 for
// walking records in large blocks), refuses or misreads some 130 of the 1,303
// odd files that the tests read, takes a pcapng that is cut in the middle for a
// clean end, and had allocations of 4 GB from one damaged length. libpcap cannot
// read pcapng with several link types, which every capture on "any" or of two
// interfaces is, and costs a call through cgo for each packet. Reading is a few
// hundred lines; being wrong here makes everything after it wrong.
//
// # Why the filter is libpcap's
//
// People know tcpdump's language by what tcpdump does with it. Only libpcap is
// the same in every corner, so the expression is compiled and run by it. It is
// loaded when a filter or an interface asks for it; where it is missing, or without
// cgo, those are refused with the reason, and all else works.
//
// # Why merging waits for every file
//
// The next frame of a timeline is known only when each file has shown its next
// one. A pipe among several files therefore holds the others up while it pauses;
// a single pipe never waits.
package capture
