package export

import (
	"path"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/program"
)

// confine returns a stub in the place of a program. The stub asks rye to run the program of the
// item, so the item's needs and the sandbox hold. It is written in the program's own language,
// because a text of a skill often names the interpreter: "python scripts/tide.py".
func confine(c copyOf, ref objects.Ref) copyOf {
	kind := program.Of(c.from, c.data, c.exec)
	if kind == "" || kind == program.Archive || kind == program.Macro {
		return c
	}
	name := string(ref.ID) + "/" + c.from
	text, ok := stub(path.Ext(c.from), words.FirstLine(string(c.data)), name)
	if !ok {
		return c
	}
	c.data, c.exec = []byte(text), true
	return c
}

// stub returns a program that runs rye, in the language of a file. ok is false for a library or a
// language without a stub.
func stub(ext, first, name string) (text string, ok bool) {
	const note = " rye runs the program of this skill inside its limits."
	q := strconv.Quote(name)
	language := ext
	if strings.HasPrefix(first, "#!") {
		for _, l := range []struct{ word, ext string }{{"python", ".py"}, {"node", ".js"}, {"ruby", ".rb"}, {"perl", ".pl"}, {"sh", ".sh"}} {
			if strings.Contains(first, l.word) {
				language = l.ext
				break
			}
		}
	}
	switch language {
	case ".py":
		return "#!/usr/bin/env python3\n#" + note + "\nimport os, sys\nos.execvp(\"rye\", [\"rye\", \"run\", " + q + ", \"--\"] + sys.argv[1:])\n", true
	case ".js", ".cjs":
		return "#!/usr/bin/env node\n//" + note + "\nconst r = require(\"node:child_process\").spawnSync(\"rye\", [\"run\", " + q + ", \"--\", ...process.argv.slice(2)], {stdio: \"inherit\"});\nprocess.exit(r.status ?? 1);\n", true
	case ".mjs":
		return "#!/usr/bin/env node\n//" + note + "\nimport { spawnSync } from \"node:child_process\";\nconst r = spawnSync(\"rye\", [\"run\", " + q + ", \"--\", ...process.argv.slice(2)], {stdio: \"inherit\"});\nprocess.exit(r.status ?? 1);\n", true
	case ".rb":
		return "#!/usr/bin/env ruby\n#" + note + "\nexec(\"rye\", \"run\", " + q + ", \"--\", *ARGV)\n", true
	case ".pl":
		return "#!/usr/bin/env perl\n#" + note + "\nexec(\"rye\", \"run\", " + strings.ReplaceAll(strings.ReplaceAll(q, "@", `\@`), "$", `\$`) + ", \"--\", @ARGV) or die $!;\n", true
	case ".ps1":
		return "#" + note + "\n& rye run '" + strings.ReplaceAll(name, "'", "''") + "' -- @args\nexit $LASTEXITCODE\n", true
	case ".sh", ".bash", "":
		return "#!/bin/sh\n#" + note + "\nexec rye run '" + strings.ReplaceAll(name, "'", `'\''`) + "' -- \"$@\"\n", true
	}
	return "", false
}
