package cage

// Bounds are the limits of a process. The zero value allows nothing.
type Bounds struct {
	Grants []Grant // on files; every other file is refused

	Net   bool     // IPv4 and IPv6, as client and server
	Ports []uint16 // TCP ports that may be connected to; nil is every port
	Unix  bool     // sockets of this machine

	// Inside means that process ids, System V's shared memory and network devices belong to the
	// namespace. So the program cannot reach other processes through them.
	Inside bool
}

// Grant gives rights on files.
type Grant struct {
	Path   string // of a file or a tree; a missing path or a link is skipped
	Rights Rights
	Avoid  []string // parts of the tree that are excluded
}

// Rights on files.
type Rights uint8

// The rights.
const (
	Read   Rights = 1 << iota // files, and the names in directories
	Exec                      // to read, and to start
	Write                     // to read, change, make, move and remove
	Create                    // to make, fill and replace files; see chain/primitive, Sandbox.Create
	Device                    // to read, write and control
)

// Limit bounds a resource, by its number in setrlimit(2).
type Limit struct {
	Name     string
	Resource int
	Max      uint64
}

// Orders are the orders to rye-cage for one run.
type Orders struct {
	Argv []string // Argv[0] is an absolute path in the view
	Env  []string
	Dir  string // in the view; "" is its root

	Sealed bool // the program has a sealed file as descriptor 3
	Back   bool // the program has a connection as its next descriptor
	Handed bool // a tree comes with the orders, for the mount of kind Handed
	Local  bool // the namespace has its own network, whose loopback is brought up

	// Listen are addresses of the own network. It gets them, with a listener at each, before the
	// program starts. The listeners go to rye over a socket of their own (ReceiveListeners), which comes
	// with the orders.
	Listen []Endpoint
	Enter  bool // rye may ask for sockets of the own network (Enter), over the same socket
	Names  File // replaces a file of the view: names of hosts. An empty Path replaces none

	Mounts []Mount
	Files  []File // laid out below FilesDir, which then cannot be written
	Bounds Bounds
	Limits []Limit
}

// Endpoint is a TCP address of the namespace's own network.
type Endpoint struct {
	IP   []byte // of 4 or 16 bytes
	Port uint16
}

// FilesDir has the files of a run in the view, ConnectPath is rye-cage there, and TempDir is the directory for temporary files.
const (
	FilesDir    = "/run/rye"
	ConnectPath = "/run/rye-cage"
	TempDir     = "/tmp"
)

// File is one file of a run.
type File struct {
	Path string // slash path below FilesDir
	Data []byte
	Exec bool
}

// Mount is one entry of the view. Entries are mounted in order.
type Mount struct {
	Kind   Kind
	Path   string // in the view, absolute and clean
	Source string // of a bind: the path in the system, without links; of a link: its target
	Size   int64  // of a tmpfs, in bytes; 0 is the system's default
}

// Kind is the kind of an entry of the view.
type Kind uint8

// The kinds of entries.
const (
	Shown  Kind = iota // a file or tree of the system, read-only
	Given              // the same, writable
	Kept               // the entry already in the view, now read-only
	Gone               // the entry already in the view, now empty
	Link               // a symbolic link
	Tmpfs              // an empty, writable tree
	Proc               // the processes of the namespace, always at /proc
	Dev                // the devices of every program, always at /dev
	Handed             // the tree that comes with the orders
)

// fdTalk is the socket between rye and rye-cage. rye-cage's standard descriptors are /dev/null.
// The message with the orders is one byte, with descriptors. These are the program's standard
// input, output and error, and one to read the orders from. If the orders say so, the sealed
// file, the connection, a tree and a socket for listeners and other
// sockets follow. If the socket closes without a message, rye-cage ends.
// For each later byte, rye-cage asks the program to end (SIGTERM).
const fdTalk = 3

// The answers of rye-cage, one on each line: Ready once, just after the program's start, then one
// Ended; or instead one Refused or Missing.
const (
	Ready   = "ready"
	Refused = "refused" // and the reason
	Missing = "missing" // and the missing path
	Ended   = "ended"   // and the wait status, and the words of Found
)

// Found has the facts that the first process saw at the end.
type Found struct {
	Status   int      // as in wait(2)
	TempFull bool     // TempDir was full
	Vanished []string // paths of Kept without protection at the end: the system replaced the file
}

// Doors reports whether a socket for listeners and other sockets comes with the orders.
func (o *Orders) Doors() bool { return len(o.Listen) > 0 || o.Enter }
