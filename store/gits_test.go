package store

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
)

// gitMaintaining does what a user's git may do at any time.
func gitMaintaining(t *testing.T, dir string, stop chan struct{}) {
	tripped := &trips{seen: map[string]int{}}
	defer func() { t.Logf("git: %s", tripped) }()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		tip, err := tryGit(dir, nil, "rev-parse", testHead)
		if err != nil {
			t.Errorf("git rev-parse: %s", tip)
		}
		for _, args := range [][]string{
			{"update-ref", fmt.Sprintf("refs/heads/git/%d", i%5), strings.TrimSpace(tip)},
			{"pack-refs", "--all", "--prune"},
			{"repack", "-adq"},
			{"update-ref", "-d", fmt.Sprintf("refs/heads/git/%d", (i+1)%5)},
			{"gc", "-q"},
		} {
			if out, err := tryGit(dir, nil, args...); err != nil {
				tripped.count(t, args, out)
			}
		}
	}
}

// trips counts how gits tripped over each other, or over a lock or a pack of ours
// that they met halfway.
type trips struct {
	mu   sync.Mutex
	runs int
	seen map[string]int
}

// gitTrips are the ways that are known, by what git says. None of them loses
// anything: git gives up, and can be run again.
//
// Two repacks take from one another what they have made and not yet named: git (2.39)
// counts .tmp-<pid>-pack-<id>.pack as a pack, so "repack -ad" removes it with all files of
// that name. Three files objects/pack/.tmp-1-pack-<40 hexadecimal digits>.{pack,idx,rev} in
// any repository are gone after "git repack -adq".
var gitTrips = []struct{ says, why string }{
	{".lock': File exists", "a lock was held"},
	{"unable to add recent objects", "loose objects were packed meanwhile"},
	{"unable to mark recent objects", "loose objects were packed meanwhile"},
	{"unable to get object info for", "loose objects were packed meanwhile"},
	{" but expected ", "a ref moved meanwhile"},
	{"bad object", "an object moved twice while git looked once"},
	{"unable to create temporary file", "an empty directory was removed"},
	{"cannot open pack index", "a pack was replaced meanwhile"},
	{"pack-objects did not write a '.pack' file", "another repack took the pack before it was named"},
	{"pack-objects did not write a '.idx' file", "another repack took the pack before it was named"}, // it takes the index first
	{"gc is already running", "another gc"},
	{".pack' failed: No such file", "another repack took the pack before it was named"},
	{".idx' failed: No such file", "another repack took the pack before it was named"},
	{".rev' failed: No such file", "another repack took the pack before it was named"},
	{".bitmap' failed: No such file", "another repack took the pack before it was named"},
	{"unable to force loose object", "repack -ad dropped what gc was about to keep loose, which no ref reaches"},
}

func gitTripped(out string) string {
	for _, k := range gitTrips {
		if strings.Contains(out, k.says) {
			return k.why
		}
	}
	return ""
}

// count notes a failure of git; one that is not known fails the test.
func (x *trips) count(t *testing.T, args []string, out string) {
	why := gitTripped(out)
	if why == "" {
		t.Errorf("git %v: %s", args, out)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen[args[0]+": "+why]++
}

func (x *trips) String() string {
	var all []string
	for what, n := range x.seen {
		all = append(all, fmt.Sprintf("%s (%d)", what, n))
	}
	if sort.Strings(all); len(all) == 0 {
		all = []string{"none tripped"}
	}
	return fmt.Sprintf("%d runs in loops, %s", x.runs, strings.Join(all, ", "))
}
