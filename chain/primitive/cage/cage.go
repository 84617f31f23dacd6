// Package cage confines a process. On a thread of the program around (Bounds) it puts on
// rules about files (Landlock) and system calls (seccomp) and gives up rights, so that
// what the thread starts never had them. In namespaces (Start) a program of its own,
// rye-cage (Main), makes a view of files, processes and network in which only what was
// granted exists, stays as their first process, and starts the one that is confined.
//
// Go cannot make a user namespace in a running program, because that takes a process of
// one thread. It can start another program in one, but has the page tables of the one that
// asks copied for that: 3 ms at 30 MB, 20 ms at 300. So Start makes the process itself: it
// shares the memory, and until it is rye-cage does nothing but system calls (calls). What
// it becomes is small, and starts in 1 ms.
//
// It decides nothing: it is told what to mount, grant and limit, and either does all of
// it or says why not.
package cage

// Bounds are what a process may reach. The zero value is nothing.
type Bounds struct {
	Grants []Grant // on files; what is not granted is refused

	Net   bool     // IPv4 and IPv6, as client and server
	Ports []uint16 // TCP ports that may be connected to; nil is every port
	Unix  bool     // sockets of this machine

	// Inside says that process ids, System V's shared memory and the network's devices are
	// the namespace's own, so that what would reach other processes by them reaches nobody.
	Inside bool
}

// Grant gives rights on files.
type Grant struct {
	Path   string // of a file, or of a tree; what does not exist, or is a link, is passed over
	Rights Rights
	Avoid  []string // what of the tree is left out
}

// Rights on files.
type Rights uint8

// What may be granted.
const (
	Read   Rights = 1 << iota // files, and the names in directories
	Exec                      // to read, and to start
	Write                     // to read, change, make, move and remove
	Create                    // to make, fill and replace files; see chain/primitive, Sandbox.Create
	Device                    // to read and write what is there, and to control it
)

// Limit bounds a resource, by its number in setrlimit(2).
type Limit struct {
	Name     string
	Resource int
	Max      uint64
}

// Orders are what rye-cage is told about one run.
type Orders struct {
	Argv []string // Argv[0] is an absolute path in the view
	Env  []string
	Dir  string // in the view; "" is its root

	Sealed bool // the program has a sealed file as descriptor 3
	Back   bool // the program has a connection as its next descriptor
	Handed bool // a tree comes with the orders, for the mount of that kind
	Local  bool // the namespace has a network of its own, whose loopback is brought up

	Mounts []Mount
	Files  []File // laid out below FilesDir, which then cannot be written
	Bounds Bounds
	Limits []Limit
}

// FilesDir is where the view has the files of a run, and TempDir its place for temporary
// files.
const (
	FilesDir = "/run/rye"
	TempDir  = "/tmp"
)

// File is one file of a run.
type File struct {
	Path string // slash path below FilesDir
	Data []byte
	Exec bool
}

// Mount is one entry of the view. They are made in their order.
type Mount struct {
	Kind   Kind
	Path   string // in the view, absolute and clean
	Source string // of a bind: the path in the system, without links; of a link: where it leads
	Size   int64  // of a tmpfs, in bytes; 0 is the system's default
}

// Kind says what an entry of the view is.
type Kind uint8

// The kinds of entries.
const (
	Shown  Kind = iota // a file or tree of the system, read-only
	Given              // the same, writable
	Kept               // what is there in the view by now, read-only from here on
	Gone               // what is there in the view by now, as if it were empty
	Link               // a symbolic link
	Tmpfs              // an empty, writable tree
	Proc               // the processes of the namespace, always at /proc
	Dev                // devices that every program has, always at /dev
	Handed             // the tree that comes with the orders
)

// fdTalk is the socket over which rye-cage is told and answers; its standard descriptors
// lead nowhere. The message that tells is one byte, with descriptors: those of the program
// (standard input, output and error), one that the orders are read from, and, where the
// orders say so, the sealed one, the connection and a tree. A socket that is closed without a message ends it. Each byte
// after that has the program asked to end (SIGTERM).
const fdTalk = 3

// What rye-cage answers, a line each: Ready once, when the program is about
// to be started, then one End; or one Refused or Missing instead.
const (
	Ready   = "ready"
	Refused = "refused" // and why
	Missing = "missing" // and what is not there
	Ended   = "ended"   // and the wait status, and the words of Found
)

// Found is what the first process saw at the end.
type Found struct {
	Status   int      // as wait(2) has it
	TempFull bool     // there was no room left in TempDir
	Vanished []string // paths of Kept that are not kept any more: the system replaced what was there
}
