package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"os/exec"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/rye-os/rye"

// A room is one package. May lists the rooms it may import, door the outside
// modules that it may import and no room that does not say so.
type room struct {
	floor int
	path  string // below the module; "." is the module's root
	may   string
	door  string
}

// house is the law, lowest first. A new package is a new line here; a package
// that wants to import upward declares the one-method interface that it needs
// and lets internal/app hand it in.
var house = []room{
	{0, "internal/words", "", ""},
	{0, "internal/hosts", "", ""},
	{0, "fault", "internal/words", ""},
	{0, "internal/secrets", "", ""},
	{0, "internal/agents", "fault", ""},
	{0, "internal/parallel", "", ""},
	{0, "internal/diff", "", anchored},
	{0, "internal/place", "fault", xsys},
	{0, "internal/ports", "internal/place", ""},
	{0, "internal/build", "fault", ""},
	{0, "internal/headroom", "", ""},
	{0, "internal/startheap", "", ""},
	{0, "internal/rlimit", "", xsys},
	{0, "internal/testkit", "fault", xsys},
	{0, "internal/fieldcorpus", "", ""},
	{0, "internal/strict", "fault internal/words", gojson},
	{0, "internal/sse", "", ""},
	{0, "internal/table", "", ""},
	{0, "objects", "fault internal/strict internal/words", yaml + " golang.org/x/text/unicode/norm"},
	{0, "objects/expr", "fault internal/words", ""},
	{0, "internal/fields", "internal/words objects objects/expr", ""},
	{0, "objects/extract", "fault internal/words objects", ""},
	{0, "internal/unpack", "fault internal/words", ""},
	{0, "objects/program", "internal/words objects", ""},
	{0, "objects/foreign", "fault internal/words objects", toml},
	{0, "objects/foreign/discovery", "fault internal/strict internal/unpack internal/words objects objects/foreign", ""},
	{0, "objects/foreign/lockfile", "fault internal/strict internal/words objects", "golang.org/x/text/unicode/norm"},
	{0, "stdlib", "", ""},
	{0, "scaffold", "fault objects", ""},

	{0, "internal/clients", "fault internal/words objects", toml + " " + hujson},

	{0, "internal/clients/places", "fault internal/words", ""},

	{1, ".", "fault objects", ""},
	{1, "internal/bearer", "fault internal/place internal/strict objects", ""},
	{1, "objects/revoked", "fault internal/place internal/words objects", ""},
	{1, "objects/trust", "fault internal/place internal/table internal/words objects objects/revoked", ssh + " " + edwards},
	{1, "objects/trust/kms", "fault objects objects/trust", sigstore},
	{1, "objects/trust/token", "fault internal/strict objects", ""},
	{1, "objects/trust/backup", "fault internal/strict internal/words objects objects/trust", ""},
	{1, "objects/trust/agefile", "fault", age + " " + ssh},
	{1, "store", "fault internal/parallel internal/place internal/rlimit internal/words", xsys + " " + sha1cd},
	{1, "store/gogit", "fault internal/words store", gogit},
	{1, "store/records", "fault internal/place objects", xsys},
	{1, "store/memory", "fault internal/place objects store/records", ""},
	{1, "store/head", "fault internal/place internal/words store", ""},
	{1, "store/driver", "fault internal/place internal/words store store/head", ""},
	{1, "store/transport", "fault internal/hosts internal/place internal/words store", ""},
	{1, "internal/githost", "fault store store/transport", ""},
	{1, "chain/consent", "fault objects", ""},
	{1, "chain/command", "fault internal/secrets internal/words objects", mvdansh},
	{1, "chain/policy", "fault internal/words objects chain/command chain/consent", ""},
	{1, "chain/question", "fault internal/strict internal/words objects chain/consent", ""},
	{1, "chain/callback", ". fault internal/strict objects", ""},
	{1, "chain/primitive/cage", "internal/table", xsys},
	{1, "chain/primitive/ward", "fault internal/place internal/table internal/words", xsys},
	{1, "chain/primitive", "fault internal/words chain/primitive/cage", xsys},
	{1, "chain/network", "fault internal/place chain/primitive", ""},
	{1, "chain/network/forward", "fault internal/hosts internal/words", ""},
	{1, "chain/primitive/web/page", "", xhtml},
	{1, "chain/primitive/web", "fault internal/hosts internal/sse internal/words", ""},
	{1, "chain/primitive/builtin", "fault internal/secrets internal/strict internal/words objects chain/primitive", ""},

	{2, "chain/denied", "internal/secrets internal/words objects chain/primitive", ""},
	{2, "chain/audit/builtin", "", ""},
	{2, "chain/audit", "fault internal/words objects objects/program chain/command chain/audit/builtin", ""},
	{2, "store/space", "fault internal/parallel internal/place internal/table internal/words objects objects/extract objects/trust chain/policy stdlib store", xsys},
	{2, "search", "fault internal/words objects", ""},
	{2, "search/fulltext", "fault internal/parallel internal/place internal/table objects search", bleve + " " + roaring},
	{2, "chain", "fault internal/strict internal/words objects objects/expr objects/trust chain/consent chain/network chain/policy chain/primitive chain/primitive/builtin chain/primitive/web", "github.com/google/jsonschema-go"},
	{2, "internal/merging", "internal/diff objects chain stdlib", ""},

	{3, "registry/oplog", "fault internal/parallel internal/strict internal/words objects objects/trust store", ""},
	{3, "registry/memory", "fault internal/place internal/words objects objects/revoked registry/oplog store", ""},
	{3, "registry", "fault registry/memory registry/oplog internal/hosts internal/parallel internal/place internal/words objects objects/revoked objects/trust store store/transport chain", ""},
	{3, "registry/resolve", "fault objects registry/oplog", ""},

	{3, "registry/registrytest", "objects objects/trust store", ""},

	{3, "view", ". fault internal/words objects", ""},

	{4, "workspace/internal/session", ". objects/trust/backup registry registry/memory registry/oplog " + session, ""},
	{4, "workspace/internal/custody", ". objects/trust/backup " + session + " workspace/internal/session", ""},
	{4, "workspace/internal/questions", ". chain/consent chain/question " + session + " workspace/internal/session", ""},
	{4, "workspace/internal/look", ". internal/diff internal/parallel objects/extract objects/program " + session + " workspace/internal/session", ""},
	{4, "workspace/internal/finder", ". objects/extract search " + session + " workspace/internal/session workspace/internal/look", ""},
	{4, "workspace/internal/author", ". internal/diff internal/merging internal/parallel internal/unpack objects/extract objects/foreign objects/program scaffold " + session + " workspace/internal/session workspace/internal/questions workspace/internal/custody workspace/internal/look", ""},
	{4, "workspace/internal/locks", ". internal/merging " + session + " workspace/internal/session workspace/internal/look", ""},
	{4, "workspace/internal/export", ". internal/clients/places internal/diff objects/foreign objects/foreign/discovery objects/program " + session + " workspace/internal/session workspace/internal/custody workspace/internal/look workspace/internal/author workspace/internal/locks", ""},
	{4, "workspace/internal/aside", ". " + session + " workspace/internal/session", ""},
	{4, "workspace/internal/run", ". objects/expr chain/callback chain/command chain/consent chain/denied chain/network chain/network/forward chain/primitive chain/primitive/builtin chain/primitive/ward chain/primitive/web internal/hosts internal/ports " + session +
		" workspace/internal/session workspace/internal/questions workspace/internal/custody workspace/internal/look workspace/internal/author workspace/internal/locks workspace/internal/export workspace/internal/aside", ""},
	{4, "workspace/internal/share", ". internal/diff registry registry/oplog registry/resolve search store/transport " + session +
		" workspace/internal/session workspace/internal/questions workspace/internal/custody workspace/internal/look workspace/internal/finder workspace/internal/author workspace/internal/locks", ""},
	{4, "workspace/internal/origin", ". chain/primitive/web internal/diff internal/hosts objects/foreign objects/foreign/discovery objects/foreign/lockfile objects/program store/transport " + session +
		" workspace/internal/session workspace/internal/custody workspace/internal/look workspace/internal/author workspace/internal/share", ""},
	{4, "workspace/internal/install", ". internal/diff registry registry/oplog registry/resolve " + session + " workspace/internal/session workspace/internal/custody workspace/internal/look workspace/internal/locks workspace/internal/share", ""},
	{4, "workspace/internal/govern", ". registry registry/oplog " + session + " workspace/internal/session workspace/internal/custody workspace/internal/share", ""},
	{4, "workspace/internal/health", ". chain/audit internal/parallel registry registry/memory registry/oplog " + session + " workspace/internal/session workspace/internal/custody workspace/internal/look workspace/internal/share", ""},
	{4, "workspace/internal/threads", ". " + session + " workspace/internal/session workspace/internal/custody workspace/internal/look", ""},
	{4, "workspace/internal/leave", ". chain/primitive " + session + " workspace/internal/session workspace/internal/threads", ""},
	{4, "workspace", ". fault search store store/records store/space store/transport workspace/internal/session workspace/internal/questions workspace/internal/custody workspace/internal/look workspace/internal/finder workspace/internal/author workspace/internal/export workspace/internal/aside workspace/internal/locks workspace/internal/run workspace/internal/share workspace/internal/origin workspace/internal/install workspace/internal/govern workspace/internal/health workspace/internal/threads workspace/internal/leave", ""},

	{4, "agent/journal", "fault internal/place internal/strict internal/words", xsys},
	{4, "agent/transcript", "fault internal/parallel internal/place internal/table internal/words search agent/journal", ""},
	{4, "agent/ledger", ". fault internal/place", sqlite},
	{4, "agent/provider", ". fault internal/fields internal/sse internal/words objects objects/expr", ""},
	{4, "agent/provider/script", ". fault internal/fields internal/strict internal/words objects objects/expr", ""},
	{4, "internal/modelhost", ". fault internal/fields internal/strict internal/words objects objects/expr agent/provider/script", ""},
	{4, "agent/loop", "fault internal/strict internal/words", starlark},
	{4, "agent/secret", "fault objects", age},
	{4, "agent/thread", ". fault internal/place internal/strict internal/words objects objects/expr objects/trust/token view search agent/journal agent/transcript agent/ledger agent/provider agent/provider/script agent/loop", ""},

	{5, "serve/mcp", ". fault internal/strict internal/words objects view", mcpgo},

	{5, "internal/clients/files", ". fault internal/clients internal/diff internal/place internal/words", ""},

	{6, "internal/app", ". workspace chain/callback chain/network internal/agents internal/diff internal/merging internal/clients internal/clients/files chain/primitive chain/primitive/builtin fault internal/bearer internal/build internal/place internal/strict internal/words objects", xterm + " " + xsys},
	{6, "internal/cli", ". workspace internal/app internal/bearer internal/build internal/clients internal/clients/files internal/strict internal/words fault objects", "github.com/urfave/cli"},
	{6, "cmd/rye", "internal/cli internal/headroom", ""},
	{6, "cmd/rye-cage", "chain/primitive/cage internal/build", ""},
	{6, "cmd/rye-engine", ". fault agent/secret agent/thread chain/primitive/web/page workspace internal/app internal/bearer internal/build internal/cli internal/ports internal/rlimit internal/startheap objects/trust/agefile objects/trust/kms search/fulltext serve/mcp store/gogit", ""},

	{6, "internal/layers", "", ""},
	{6, "internal/tools/mutants", "", ""},
	{6, "internal/tools/man", "internal/cli", ""},
	{6, "internal/tools/docs", "internal/cli internal/layers", ""},
	{6, "internal/tools/schemas", "chain chain/policy objects workspace", "github.com/google/jsonschema-go"},
	{6, "internal/tools/typecheck", "", ""},
	{6, "internal/tools/stdlibsign", "fault objects objects/trust stdlib", ""},
	{6, "internal/tools/quickstart", "internal/githost internal/words store", mcpsdk},
	{6, "internal/tools/live", "", ""},
	{6, "internal/tools/bench", "internal/words chain/network/forward chain/primitive objects objects/revoked objects/trust search search/fulltext store", gogit + " " + sqlite},
}

// session is what the rooms of the facade share besides one another.
const session = "fault internal/place internal/strict internal/words objects objects/trust store store/driver store/head store/memory store/records store/space chain chain/policy"

// Outside modules, by the longest prefix that belongs to their door.
const (
	gogit    = "github.com/go-git"
	gojson   = "github.com/go-json-experiment/json"
	yaml     = "gopkg.in/yaml.v3"
	toml     = "github.com/pelletier/go-toml/v2"
	sigstore = "github.com/sigstore/sigstore"
	ssh      = "golang.org/x/crypto/ssh"
	xsys     = "golang.org/x/sys"
	sha1cd   = "github.com/pjbgf/sha1cd"
	hujson   = "github.com/tailscale/hujson"
	xterm    = "golang.org/x/term"
	xhtml    = "golang.org/x/net/html"
	mvdansh  = "mvdan.cc/sh"
	anchored = "github.com/rogpeppe/go-internal/diff"
	mcpgo    = "github.com/mark3labs/mcp-go"
	mcpsdk   = "github.com/modelcontextprotocol/go-sdk"
	bleve    = "github.com/blevesearch"
	roaring  = "github.com/RoaringBitmap/roaring" // of bleve's interfaces
	wazero   = "github.com/tetratelabs/wazero"
	sqlite   = "modernc.org/sqlite"
	starlark = "go.starlark.net"
	age      = "filippo.io/age"
	edwards  = "filippo.io/edwards25519"
)

// testsMay lists what the tests of a room may import besides what stands on its
// floor or lower: those who judge the room.
var testsMay = map[string]string{
	"stdlib": "objects/trust", // verifies the library as every reader must
	"search": "stdlib",        // searches it
}

// testDoors are outside modules that the tests of a room may import: they judge the room.
var testDoors = map[string]string{
	"store":           gogit,                                                                        // reads and writes the same bytes
	"store/transport": gogit,                                                                        // speaks with ours
	"store/gogit":     "gopkg.in/check.v1",                                                          // go-git's own tests of a storage
	"cmd/rye":         "golang.org/x/crypto/ssh golang.org/x/net/dns/dnsmessage",                    // servers of ssh and of names, which programs inside reach
	"search":          yaml + " github.com/blevesearch/snowballstem golang.org/x/text/unicode/norm", // golden lists, stems as the index has them, what folding has to do
}

// anywhere may be imported by every room; onlyTests by every test file.
var (
	anywhere  = []string{"golang.org/x/sync"}
	onlyTests = []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid", "github.com/anishathalye/porcupine", mcpsdk}
)

// never holds what no line of the table may ever be changed to allow.
var never = []struct{ who, whom, because string }{
	{"store", "objects", "the store knows no items"},
	{"store/transport", "objects", "the store knows no items"},
	{"serve/", "store", "a face that reaches the store skips verification"},
	{"serve/", "objects/trust", "a face that reaches trust skips policy"},
	{"serve/", "chain/primitive", "a face that reaches a primitive skips policy"},
	{"internal/cli", "store", "a face that reaches the store skips verification"},
	{"internal/cli", "objects/trust", "a face that reaches trust skips policy"},
	{"internal/cli", "chain/primitive", "a face that reaches a primitive skips policy"},
	{"stdlib", "", "the standard library gets no bypass: it is data"},
	{"chain/command", "chain/policy", "what a command line does is the same for every caller"},
	{"serve/", "workspace", "a face sees the vocabulary and is handed the verbs"},
	{"agent", "workspace", "an agent sees the vocabulary and is handed the verbs"},
	{"agent", "store", "an agent that reaches the store skips verification"},
	{".", "workspace", "the vocabulary has no behaviour"},
	{".", "store", "the vocabulary has no behaviour"},
}

// forTests are rooms for test files alone: each stands in for something that rye meets outside. No
// installed program and no other package links one.
var forTests = []string{"internal/fieldcorpus", "internal/githost", "internal/modelhost", "internal/testkit", "registry/registrytest"}

// pure rooms are functions of their arguments: no files, network, processes,
// randomness or clock.
var (
	pure      = []string{"internal/agents", "internal/clients", "internal/fields", "internal/secrets", "internal/sse", "internal/strict", "internal/table", "internal/words", "objects", "objects/expr", "objects/extract", "objects/foreign/discovery", "objects/foreign/lockfile", "objects/trust/token", "chain", "chain/audit", "chain/command", "chain/consent", "chain/policy", "chain/question", "chain/primitive/web/page", "internal/diff"}
	effects   = []string{"os", "net", "syscall", "crypto/rand", "math/rand", "log", "io/ioutil", "plugin", "embed"}
	effectsOK = []string{"net/url", "net/netip"} // parse and compare only
	clock     = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
)

// slow modules would cost every start of the front: together 9 to 14 ms, sigstore 0.8, pages
// of the web 0.15 (docs/rationale.md, "Programs").
var slow = []string{gogit, mcpgo, mcpsdk, bleve, roaring, wazero, sqlite, sigstore, xhtml, "go.starlark.net", "github.com/santhosh-tekuri/jsonschema"}

func TestLayers(t *testing.T) {
	files := sources(t)
	for _, f := range files {
		for _, imp := range f.imports {
			if why := refuse(f, imp); why != "" {
				t.Errorf("%s imports %s: %s", f.name, imp, why)
			}
		}
	}
	packages, err := Packages(root)
	if err != nil {
		t.Error(err)
	}
	t.Log("\n" + drawMap(files, packages))
}

// refuse says why file f may not import imp, or "".
func refuse(f source, imp string) string {
	r, ok := find(f.room)
	if !ok {
		return fmt.Sprintf("package %s has no line in the law of internal/layers", f.room)
	}
	if imp == "C" {
		return "rye is pure Go: its programs cross-compile and need no C compiler"
	}
	if inner, ok := inside(imp); ok {
		return refuseRoom(f, r, inner)
	}
	if !outside(imp) {
		if slices.Contains(pure, r.path) && !f.test && within(imp, effects) && !within(imp, effectsOK) {
			return r.path + " is pure: what it needs from the world is an argument"
		}
		return ""
	}
	if within(imp, strings.Fields(r.door)) || within(imp, anywhere) || f.test && within(imp, append(strings.Fields(testDoors[r.path]), onlyTests...)) {
		return ""
	}
	var doors []string
	for _, o := range house {
		if within(imp, strings.Fields(o.door)) {
			doors = append(doors, o.path)
		}
	}
	if len(doors) == 0 {
		return "no room has a door to this module: add it to the table, with a row in docs/rationale.md, \"Dependencies\""
	}
	return "its door is " + strings.Join(doors, ", ")
}

func refuseRoom(f source, r room, whom string) string {
	for _, n := range never {
		if !f.test && under(r.path, n.who) && (n.whom == "" || under(whom, n.whom)) {
			return "never: " + n.because
		}
	}
	if !f.test && whom != r.path && slices.Contains(forTests, whom) && !strings.HasPrefix(r.path, "internal/tools/") {
		return "never: it is for tests alone"
	}
	if whom == r.path || slices.Contains(strings.Fields(r.may), whom) {
		return ""
	}
	o, ok := find(whom)
	switch {
	case !ok:
		return fmt.Sprintf("package %s has no line in the law", whom)
	case f.test && (o.floor <= r.floor || slices.Contains(strings.Fields(testsMay[r.path]), whom)):
		return ""
	}
	return fmt.Sprintf("%s (floor %d) may import: %s", r.path, r.floor, r.may)
}

// TestClock refuses calls that read the clock in pure rooms.
func TestClock(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || !slices.Contains(pure, f.room) {
			continue
		}
		for _, sel := range f.selectors(t) {
			if pkg, name, _ := strings.Cut(sel, "."); pkg == "time" && slices.Contains(clock, name) {
				t.Errorf("%s calls %s: %s is pure, the time is an argument", f.name, sel, f.room)
			}
		}
	}
}

// TestEnvironment keeps the environment in one place: directories, keys and
// tokens reach every other room as arguments.
func TestEnvironment(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || slices.Contains(forTests, f.room) || f.room == "internal/app" || f.floor == 6 && f.program || f.name == "chain/primitive/start_windows.go" {
			continue // the last: no Windows program starts without SystemRoot
		}
		for _, sel := range f.selectors(t) {
			if slices.Contains([]string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.UserHomeDir", "os.UserConfigDir", "os.UserCacheDir"}, sel) {
				t.Errorf("%s calls %s: only internal/app reads the environment", f.name, sel)
			}
		}
	}
}

// TestFrontIsLight walks the sources from cmd/rye, and then asks the go command
// about the inside of outside modules too.
func TestFrontIsLight(t *testing.T) {
	if path := reach(sources(t), "cmd/rye", slow); path != nil {
		t.Errorf("a slow module reaches the front: %s", strings.Join(path, " -> "))
	}
	if rooms(sources(t))["cmd/rye"] == 0 {
		t.Skip("cmd/rye is not built yet")
	}
	cmd := exec.Command("go", "list", "-deps", "./cmd/rye")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps ./cmd/rye: %v", err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if within(dep, slow) {
			t.Errorf("the front links %s (go mod why -m shows the way)", dep)
		}
	}
}

// reach returns the shortest way from a room to one of the modules, or nil.
func reach(files []source, from string, modules []string) []string {
	queue, seen := [][]string{{from}}, map[string]bool{from: true}
	for len(queue) > 0 {
		way := queue[0]
		queue = queue[1:]
		for _, f := range files {
			if f.test || f.room != way[len(way)-1] {
				continue
			}
			for _, imp := range f.imports {
				if within(imp, modules) {
					return append(way, imp)
				}
				if next, ok := inside(imp); ok && !seen[next] {
					seen[next] = true
					queue = append(queue, append(slices.Clone(way), next))
				}
			}
		}
	}
	return nil
}

// TestTable checks the law itself: floors ascend, rooms look down, and nothing
// is allowed that must never be.
func TestTable(t *testing.T) {
	floor := 0
	for i, r := range house {
		if r.floor < floor {
			t.Errorf("%s stands above its floor %d", r.path, r.floor)
		}
		floor = r.floor
		for _, m := range strings.Fields(r.may) {
			if j := slices.IndexFunc(house, func(o room) bool { return o.path == m }); j < 0 || j >= i {
				t.Errorf("%s may import %s, which does not stand before it", r.path, m)
			}
			if why := refuseRoom(source{room: r.path}, r, m); why != "" {
				t.Errorf("%s may import %s, yet: %s", r.path, m, why)
			}
		}
	}
}

// TestLawBites shows that the law refuses: a law that lets everything through
// would pass on every tree.
func TestLawBites(t *testing.T) {
	for _, c := range []struct {
		room, imp string
		test      bool
		want      string // part of the reason; "" when it is allowed
	}{
		{"store", module + "/objects", false, "knows no items"},
		{"serve/mcp", module + "/store", false, "skips verification"},
		{"serve/mcp", module + "/chain/primitive", false, "skips policy"},
		{"objects", module + "/store", false, "floor 0"},
		{"objects", module + "/store", true, "floor 0"},
		{"objects", "os", false, "pure"},
		{"objects", "os", true, ""},
		{"chain", "net/http", false, "pure"},
		{"chain", "net/url", false, ""},
		{"chain/policy", "os/exec", false, "pure"},
		{"chain/policy", "mvdan.cc/sh/v3/syntax", false, "door is chain/command"},
		{"chain/command", "mvdan.cc/sh/v3/syntax", false, ""},
		{"chain/command", "os", false, "pure"},
		{"chain/command", "net/http", false, "pure"},
		{"chain/command", module + "/chain/policy", false, "never: what a command line does"},
		{"stdlib", module + "/objects", false, "no bypass"},
		{"registry", "github.com/go-git/go-git/v5", false, "door is store/gogit"},
		{"store", "github.com/go-git/go-git/v5", false, "door is store/gogit"},
		{"store", "github.com/go-git/go-git/v5", true, ""},
		{"registry", yaml, false, "door is objects"},
		{"store/space", ssh + "/agent", false, "door is objects/trust"},
		{"internal/cli", mcpgo + "/server", false, "door is serve/mcp"},
		{"objects", "github.com/google/go-cmp/cmp", false, "no room has a door"},
		{"objects", "github.com/google/go-cmp/cmp", true, ""},
		{"store", "C", false, "pure Go"},
		{"new/room", "fmt", false, "no line"},
		{"internal/cli", module, false, ""},
		{"agent/thread", module + "/internal/modelhost", false, "for tests alone"},
		{"cmd/rye-engine", module + "/internal/modelhost", false, "for tests alone"},
		{"agent/thread", module + "/internal/modelhost", true, ""},
		{"registry", module + "/registry/registrytest", false, "for tests alone"},
		{"registry", module + "/internal/githost", false, "for tests alone"},
		{"registry", module + "/internal/githost", true, ""},
		{"cmd/rye", module + "/internal/githost", false, "for tests alone"},
		{"internal/tools/quickstart", module + "/internal/githost", false, ""},
	} {
		got := refuse(source{room: c.room, test: c.test}, c.imp)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s importing %s: %q, want %q", c.room, c.imp, got, c.want)
		}
	}
}

// drawMap shows the house: the summary of each room and the packages that it really imports.
func drawMap(files []source, packages []Package) string {
	var b strings.Builder
	says := map[string]string{}
	for _, p := range packages {
		says[p.Path] = p.Summary
	}
	floor := -1
	lines := rooms(files)
	for _, r := range house {
		if r.floor != floor {
			floor = r.floor
			fmt.Fprintf(&b, "\nfloor %d\n", floor)
		}
		size := "not built yet"
		if n := lines[r.path]; n > 0 {
			size = fmt.Sprintf("%5d lines", n)
		}
		fmt.Fprintf(&b, "  %-20s %-13s %s\n", r.path, size, says[r.path])
		if ins, outs := imported(files, r.path); len(ins)+len(outs) > 0 {
			fmt.Fprintf(&b, "  %-20s   imports %s\n", "", strings.Join(append(ins, outs...), ", "))
		}
	}
	return b.String()
}

// imported lists the rooms and then the outside modules that a room imports.
func imported(files []source, path string) (ins, outs []string) {
	for _, f := range files {
		if f.room != path || f.test {
			continue
		}
		for _, imp := range f.imports {
			if in, ok := inside(imp); ok {
				ins = append(ins, in)
			} else if outside(imp) {
				parts := strings.Split(imp, "/")
				outs = append(outs, "["+strings.Join(parts[:min(3, len(parts))], "/")+"]")
			}
		}
	}
	sort.Strings(ins)
	sort.Strings(outs)
	return slices.Compact(ins), slices.Compact(outs)
}

// selectors returns every package.Name that the file uses.
func (f source) selectors(t *testing.T) []string {
	tree, err := parser.ParseFile(f.fset, f.full, f.text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	real := make(map[string]string) // the file's name of a package -> its path
	for _, imp := range tree.Imports {
		path, _ := strconv.Unquote(imp.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		real[name] = path
	}
	var found []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && real[x.Name] != "" {
				found = append(found, real[x.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return found
}
