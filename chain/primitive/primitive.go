package primitive

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

// Tier is the degree of a run's confinement. The zero value requests Best, so a caller cannot
// forget the sandbox.
type Tier uint8

// The tiers of this package. Higher ones contain lower ones.
const (
	S0 Tier = iota + 1 // clean environment, descriptors, session
	S1                 // and resource limits, no_new_privs, capabilities, umask
	S2                 // and Landlock and seccomp
	S3                 // and namespaces of its own: files, processes, network
)

// String returns "S0" to "S3"; "best" for the zero value.
func (t Tier) String() string {
	if t == 0 {
		return "best"
	}
	return fmt.Sprintf("S%d", uint8(t)-1)
}

// Best returns the highest tier that this machine gives to this process. It asks the kernel once.
// For S3, which needs UseCage, it makes namespaces once; Cage.Memo remembers the answer.
func Best() Tier {
	if best() >= S2 && NoNamespaces() == "" {
		return S3
	}
	return best()
}

// Call is one program to run. The zero value of every field except Argv is sensible.
type Call struct {
	Argv []string // Argv[0] is the absolute path of the program; no shell is involved
	Dir  string   // absolute; "" is the private temporary directory
	Temp string   // private directory for HOME and TMPDIR; "" gives the program none

	// Env is added to PATH, HOME, TMPDIR and LANG. Variables that inject code into a program
	// (LD_PRELOAD, BASH_ENV, NODE_OPTIONS, ...) are refused from every caller.
	Env map[string]string

	// Network has the variables of the user's own network settings. Env precedes them. They may
	// hold one setting of git's (GIT_CONFIG_COUNT), which Env may not.
	Network map[string]string

	Caller string // the name of the caller for whom it runs; its processes find it in RunVar

	Stdin     []byte        // nil is an empty input
	Input     io.Reader     // an input that comes later, in place of Stdin; see Run
	Timeout   time.Duration // 0 is DefaultTimeout; below 0 is none
	Grace     time.Duration // between SIGTERM and SIGKILL; 0 is DefaultGrace
	MaxOutput int           // bytes kept of each stream; 0 is DefaultMaxOutput

	// Sealed is the content of a file in memory that no process can change, not even this program
	// or another one of the same user. It is at SealedPath, for execution or reading. nil is
	// none. A non-nil value is refused if SealedPath is "".
	Sealed []byte

	// Back is the program's end of a connection to its caller (see Pair). The program finds it by
	// BackVar. nil is none. Run closes it.
	Back *os.File

	// Mark identifies the processes of the run; 0 makes a new one. A caller with a RunDir passes
	// the directory's mark, so that Sweep also knows it.
	Mark Mark

	// Files are laid out for this run alone under S3, at RunFiles. No other process sees them,
	// and the program cannot write them. Below S3 see Materialise.
	Files []File

	// Doors lead out of a network of the program's own (Sandbox.Own).
	Doors Doors

	Sandbox Sandbox

	fresh bool // never use a rye-cage that was started before
}

// Doors are the ways out of and into a program's own network. The zero value has none.
type Doors struct {
	// Listen are addresses in that network, each with a listener. Serve gets the listeners when the
	// program has started, one for each address in order; nil for an IPv6 address where the system
	// has no IPv6. It takes them over and does not wait. Without Serve there are no doors.
	Listen []netip.AddrPort
	Serve  func([]net.Listener)

	// Enter gets a function that connects to a port of that network, when the program has started. The
	// function fails after the run. nil is no way in.
	Enter func(dial func(ctx context.Context, port uint16) (net.Conn, error))

	// Tunnel is the address of a proxy in that network, at a listener of Listen, for git's SSH. The
	// program then has rye-cage at ConnectPath, and GIT_SSH_COMMAND uses it. The zero value is none.
	Tunnel netip.AddrPort

	// Names is the text of the program's file of host names; nil leaves the system's.
	Names []byte
}

// Defaults of a Call. The timeout is RYE OS's.
const (
	DefaultTimeout   = 300 * time.Second
	DefaultGrace     = 2 * time.Second
	DefaultMaxOutput = 4 << 20
)

// Sandbox is everything that the program may reach. Paths are absolute and resolved. A path that
// does not exist, or that goes through a symbolic link, gives no right: Read and Exec skip it,
// Write refuses it. Below S2 only the limits bind, and Result.Unbound reports that.
type Sandbox struct {
	Tier Tier // required: less is an error; 0 is Best

	Read  []string // files and trees that may be read
	Exec  []string // that may be read and executed
	Write []string // that may be read, changed, created in and removed from

	// Create lists directories in which files may be made, replaced and removed at any depth,
	// although they contain paths of Protect. The kernel's rules cannot exclude a part of a
	// directory. Only the program itself keeps out of the protected parts, and Result.Unbound
	// reports that. Create is for rye's own functions (see builtin).
	Create []string

	// Protect is never writable, and Hide is not readable either, even inside a path above.
	// Landlock can only grant. So a tree that contains one of them is replaced by its other
	// entries, and in such a directory the program cannot create anything.
	Protect []string
	Hide    []string

	Net   bool     // IPv4 and IPv6, as client and server; false is no network at all
	Own   bool     // under S3: Net is a network of the program's own, and leads out by Call.Doors only
	Ports []uint16 // TCP ports that may be connected to, except with Own; nil is every port
	Hosts []string // the hosts of Ports; the kernel filters no names, so this only appears in Unbound
	Unix  bool     // sockets of this machine: agents, databases, desktop. Reaches keys.

	// Listen are TCP ports at which the program serves other programs of this machine: under S3 by
	// Call.Doors, below at its own network's. There nothing keeps it from other ports.
	Listen []uint16

	// Owner and OwnerGroup are the owner of the project. Under S3 the superuser runs a tool there
	// as this user; 0 is the superuser.
	Owner, OwnerGroup uint32

	Limits Limits
}

// Limits are resource limits of the process and of each of its descendants. Zero is the default
// of the field; a negative value is no limit.
type Limits struct {
	CPU    int64 // seconds of processor time; default none
	Memory int64 // bytes of data of each process, under S3 at least 64 MiB; default three quarters of the machine's
	File   int64 // bytes of a written file; default 4 GiB
	Files  int64 // open descriptors; default 1024
	Procs  int64 // processes of the run; only S3 can count them; default 4096 there
	Temp   int64 // bytes of temporary files under S3; default 2 GiB, at most a quarter of the machine's
}

// Result is the outcome of a run. Exit is meaningful only when Run returned no error, or a
// fault.Limit for its timeout.
type Result struct {
	Exit   int    // 0 to 255; 128 + n when signal n ended it
	Signal string // "SIGKILL"; "" when it exited by itself

	Stdout    []byte
	Stderr    []byte
	Truncated bool // a stream was longer than MaxOutput: its middle is a marker

	Confined time.Duration // of the run: making the sandbox; 0 without one
	Spawned  time.Duration // of the run: starting the program in it
	TimedOut bool

	Tier    Tier     // the tier of the run
	Unbound []string // requested or usual limits that did not bind, and why

	// Reached names a limit that ended the run ("cpu", "file"), and Near names limits that it may
	// have met. Vanished are paths of Sandbox.Protect that were not protected to the end, because
	// another process replaced the file. After a kill it has the paths whose protection is
	// unknown.
	Reached  string
	Near     []string
	Vanished []string

	// Blind is set under S3 after a kill: which paths were protected to the end is unknown.
	Blind bool
}

// Run runs c and waits for the end of the program and its descendants. The output goes to stdout
// and stderr as it comes, complete, and a bounded copy goes to the result. Either writer may be
// nil, and each is written to from one goroutine. After a write error Run stops writing to that
// writer only.
//
// An Input is read as long as its reader gives something, also beyond what the program takes. Its last
// read may end after Run.
//
// A program that ran and failed is a Result, not an error. Errors are: Usage for an invalid call,
// Denied for a tier, limit or variable that cannot be given, NotFound for a missing program,
// Limit for the timeout, Interrupt when ctx was cancelled. In the last two cases the result holds
// everything up to then.
func Run(ctx context.Context, c Call, stdout, stderr io.Writer) (Result, error) {
	if c.Back != nil {
		defer c.Back.Close()
	}
	return run(ctx, c, stdout, stderr)
}
