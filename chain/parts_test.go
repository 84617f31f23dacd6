package chain

import "testing"

// TestMentions: which files a text names, for each language.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		file, text, name string
		want             bool
	}{
		{"t.sh", `. "$(dirname "$0")/lib.sh"`, "lib.sh", true},
		{"t.sh", `. "$d/my-lib.sh"`, "lib.sh", false},
		{"t.sh", `. "$d/lib.sh.old"`, "lib.sh", true}, // rather once too often: the file is judged
		{"t.sh", `. "$d/lib.shx"`, "lib.sh", false},
		{"t.sh", `lib`, "lib.sh", false},
		{"t.py", "import util\n", "util.py", true},
		{"t.py", "    import util as u\n", "util.py", true},
		{"t.py", "import os, util\n", "util.py", true},
		{"t.py", "from util import x\n", "util.py", true},
		{"t.py", "from . import util\n", "util.py", true},
		{"t.py", "from helpers import (\n  a,\n  util,\n)\n", "util.py", true},
		{"t.py", "from helpers import a, \\\n  util\n", "util.py", true},
		{"t.py", "from helpers import (\n  a,\n)\nutil\n", "util.py", false},
		{"t.py", "import my_util\n", "util.py", false},
		{"t.py", "import os  # not util\n", "util.py", false},
		{"t.py", "util = 1\n", "util.py", false},
		{"t.py", "m = importlib.import_module(n) # util.py\n", "util.py", true},
		{"t.py", "open(here + '/words.yaml')\n", "words.yaml", true},
		{"t.js", `const u = require("./util")`, "util.js", true},
		{"t.mjs", `import u from './util.mjs'`, "util.mjs", true},
		{"t.ts", "await import(`../x/util`)", "util.ts", true},
		{"t.js", `const u = require("util")`, "util.js", false},
		{"t.sh", `./util"`, "util.sh", false},
	} {
		if got := len(mentioned(c.file, []byte(c.text), map[string]bool{c.name: true})) == 1; got != c.want {
			t.Errorf("%s: %q names %s: %v, want %v", c.file, c.text, c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		file, text, dir string
		want            bool
	}{
		{"t.sh", `. "$d/in/lib.sh"`, "in", true},
		{"t.sh", `. "$d/main/lib.sh"`, "in", false},
		{"t.py", "from helpers.util import x\n", "helpers", true},
		{"t.py", "helpers = 1\n", "helpers", false},
	} {
		if got := len(mentioned(c.file, []byte(c.text), map[string]bool{c.dir + "/": true})) == 1; got != c.want {
			t.Errorf("%s: %q names %s/: %v, want %v", c.file, c.text, c.dir, got, c.want)
		}
	}
}
