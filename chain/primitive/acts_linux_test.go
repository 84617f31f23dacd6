package primitive

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// The table of acts: what a hostile tool tries, which answer each tier gives to root and to
// an ordinary user, and which it gave. What matters is looked at twice: the answer of the
// system call, and afterwards, from outside, what became of the victim (scene).

// deed is one act. The lists of them are in the files acts_*.
type deed struct {
	name    string
	finding string // of the review; "" where it is of none
	want    string // an answer for each of S0 to S3, once for both users, or for root and for the other
	why     string // in a word, where S2 or S3 allows it
	do      func(*scene) error
}

// Answers, a letter each.
const (
	allowed  = 'a'
	refused  = 'r'
	absent   = 'n' // there is nothing of that name
	harmless = 'h' // allowed, and reaches only what is the tool's own
	void     = 'v' // nobody refused: the call means nothing there, or its arguments do no harm
	any      = '*' // that depends on the kernel
)

var answerWords = map[byte]string{allowed: "allowed", refused: "refused", absent: "not there", harmless: "harmless", void: "void", any: "any"}

// expects returns the answer at a tier.
func (d *deed) expects(tier Tier, root bool) byte {
	want := strings.Fields(d.want)
	if !root {
		slices.Reverse(want)
	}
	return want[0][tier-S0]
}

// answerOf puts what the kernel said into a letter.
func answerOf(err error) byte {
	is := func(list ...unix.Errno) bool {
		return slices.ContainsFunc(list, func(e unix.Errno) bool { return errors.Is(err, e) })
	}
	switch {
	case err == nil:
		return allowed
	case is(unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EROFS, unix.EXDEV, unix.EBUSY):
		return refused
	case is(unix.ENOENT, unix.ESRCH, unix.ENETUNREACH, unix.ECONNREFUSED, unix.EIDRM, unix.ENXIO, unix.EADDRNOTAVAIL):
		return absent
	}
	return void
}

// found is what came of one act.
type found struct {
	Answer byte
	Said   string
}

// fits reports whether an answer is the expected one. Of what is its own the kernel says
// that it is allowed.
func fits(want, got byte) bool {
	return want == got || want == harmless && got == allowed || want == any
}

// deeds are all acts that one process of a tool attempts, one after the other.
func deeds(group string) []deed {
	if group == "ports" {
		return portDeeds
	}
	return slices.Concat(fileDeeds, systemDeeds, setIDDeeds, protectedDeeds, ipcDeeds, processDeeds, networkDeeds, kernelDeeds, namespaceDeeds,
		rightsDeeds, terminalDeeds, limitDeeds, oldDeeds)
}

// commit is the hostile tool: it does the deeds of a group, each on a thread that nothing
// else uses afterwards.
func (s *scene) commit() {
	out := map[string]found{}
	for _, d := range deeds(s.Group) {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- d.do(s)
		}()
		select {
		case err := <-done:
			out[d.name] = found{answerOf(err), fmt.Sprint(err)}
		case <-time.After(5 * time.Second):
			out[d.name] = found{void, "no answer in time"}
		}
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

// survey is what was found for one user, by tier and act.
type survey map[string]map[string]found

// tiersTried are those that the table has. The lower two prove that the acts are acts: most of
// them succeed there.
func tiersTried() []Tier {
	all := []Tier{S2}
	if Best() >= S3 {
		all = append(all, S3)
	}
	if os.Getenv("RYE_SOAK") != "" {
		all = append([]Tier{S0, S1}, all...)
	}
	return all
}

// TestActs prints the table with -v.
func TestActs(t *testing.T) {
	needS2(t)
	if cage.ABI() < 6 {
		t.Skip("this kernel's Landlock does not know signals and sockets, and Result.Unbound says so")
	}
	if unix.Access("/dev/ptmx", unix.R_OK) != nil {
		t.Skip("no terminals can be made here")
	}
	var theirs survey
	var wait sync.WaitGroup
	defer wait.Wait() // also where the rest fails
	if os.Getuid() == 0 {
		dir := forNobody(t)
		wait.Go(func() { theirs = surveyOfNobody(t, dir) })
	}
	mine := makeSurvey(t)
	wait.Wait()
	if to := os.Getenv("RYE_TEST_SURVEY"); to != "" {
		raw, _ := json.Marshal(mine)
		if err := os.WriteFile(to, raw, 0o600); err != nil {
			t.Error(err)
		}
		return
	}
	if os.Getuid() != 0 {
		mine, theirs = nil, mine
	}
	all := slices.Concat(deeds(""), deeds("ports"), runDeeds)
	if len(all) < 150 {
		t.Errorf("%d acts only", len(all))
	}
	other := 0 // what an act does that nothing keeps from it depends on the machine
	var table strings.Builder
	names := map[string]bool{}
	for _, d := range all {
		if names[d.name] {
			t.Errorf("two acts of the name %q", d.name)
		}
		names[d.name] = true
		fmt.Fprintf(&table, "\n%-4s %-52s", d.finding, d.name)
		for _, tier := range tiersTried() {
			for _, who := range []struct {
				name string
				root bool
				survey
			}{{"root", true, mine}, {"user", false, theirs}} {
				if who.survey == nil {
					continue
				}
				want, got := d.expects(tier, who.root), who.survey[tier.String()][d.name]
				if got.Answer == 0 {
					t.Errorf("%s %s: %s was not attempted", tier, who.name, d.name)
				} else if !fits(want, got.Answer) && tier < S2 {
					other++
					t.Logf("%s %s: %s: want %s, got %s (%s)", tier, who.name, d.name, answerWords[want], answerWords[got.Answer], got.Said)
				} else if !fits(want, got.Answer) {
					t.Errorf("%s %s: %s: want %s, got %s (%s)", tier, who.name, d.name, answerWords[want], answerWords[got.Answer], got.Said)
				}
				fmt.Fprintf(&table, " %s %s: %-9s", tier, who.name, answerWords[want])
			}
		}
		table.WriteString(" " + d.why)
	}
	if other > len(all)/10 {
		t.Errorf("%d acts have other answers where nothing binds: these say little", other)
	}
	t.Logf("%d acts%s", len(all), table.String())
}

// TestActsThatAreAllowedAreExplained: what a tier lets pass is no oversight.
func TestActsThatAreAllowedAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.ToLower(strings.Join(strings.Fields(string(page)), " "))
	for _, d := range slices.Concat(deeds(""), deeds("ports"), runDeeds) {
		for _, word := range strings.Fields(d.want) {
			if len(word) != 4 {
				t.Errorf("%s: answers %q", d.name, d.want)
			} else if strings.ContainsAny(word[2:], "ah") && d.why == "" {
				t.Errorf("%s: allowed, and nobody says why", d.name)
			} else if len(word) == 4 && strings.Contains(word[2:], "a") && !strings.Contains(said, strings.ToLower(d.why)) {
				t.Errorf("%s: docs/security.md does not say %q", d.name, d.why)
			}
			if len(word) == 4 && word[3] == allowed && slices.Contains([]string{"E2", "E3", "E14", "E15", "E16"}, d.finding) {
				t.Errorf("%s: %s is open under S3", d.name, d.finding)
			}
		}
	}
}

// makeSurvey has this process's user run the hostile tool at each tier, and compares the
// victim afterwards.
func makeSurvey(t *testing.T) survey {
	out := survey{}
	for _, tier := range tiersTried() {
		all := map[string]found{}
		for _, group := range []string{"", "ports"} {
			s := newScene(t, group)
			before := s.state(t, tier)
			r := mustRun(t, s.call(tier))
			if err := json.Unmarshal(r.Stdout, &all); err != nil {
				t.Fatalf("%s: the tool said %q, %q (exit %d %s)", tier, r.Stdout, r.Stderr, r.Exit, r.Signal)
			}
			if tier >= S2 {
				s.compare(t, tier, before, s.state(t, tier))
			}
			s.over()
		}
		attemptRuns(t, tier, all)
		out[tier.String()] = all
	}
	return out
}

// call is the run of the hostile tool on s.
func (s *scene) call(tier Tier) Call {
	s.Tier = tier
	aim, _ := json.Marshal(s)
	self, _ := os.Executable()
	c := Call{Argv: []string{self}, Dir: s.Project, Temp: s.Temp, Timeout: 60 * time.Second, Env: map[string]string{"RYE_TEST_ACT": "commit", "RYE_TEST_SCENE": string(aim)}}
	if tier >= S3 {
		c.Temp = RunTemp
	}
	c.Sandbox = Sandbox{Tier: tier, Exec: []string{self, s.Project}, Write: []string{s.Project},
		Protect: []string{s.in(".ai"), s.in(".git"), s.in("sub/.git"), s.in(".envrc")}, Hide: []string{s.in("hidden")}}
	if s.Group == "ports" {
		c.Sandbox.Net, c.Sandbox.Ports = true, []uint16{uint16(s.OpenPort)}
	}
	return c
}

// forNobody puts a copy of this program where an ordinary user finds it. Nothing may be
// started meanwhile: it would have the copy open for writing.
func forNobody(t *testing.T) (dir string) {
	dir, err := os.MkdirTemp("/tmp", "rye-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o777)
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "primitive.test"), data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// surveyOfNobody has an ordinary user do the same.
func surveyOfNobody(t *testing.T, dir string) survey {
	prog, to := filepath.Join(dir, "primitive.test"), filepath.Join(dir, "survey")
	cmd := exec.Command(prog, "-test.run", "^TestActs$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + SafePath, "RYE_TEST_SURVEY=" + to, "RYE_SOAK=" + os.Getenv("RYE_SOAK")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	var all survey
	raw, err := os.ReadFile(to)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	return all
}
