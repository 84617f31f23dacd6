package fieldcorpus

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

var (
	themes = strings.Fields("tide lichen kiln bellows compass loom orchard beehive glacier lantern mosaic harbour ferry quarry sundial " +
		"aqueduct meadow cellar foundry archive bakery observatory lighthouse greenhouse windmill sawmill pottery vineyard dovecote peat salt wool")
	crafts   = strings.Fields("table log survey planner chart index audit notes ledger forecast roster catalogue sketch digest label report")
	verbs    = strings.Fields("Works-out Draws Compares Sorts Repairs Translates Counts Explains Schedules Summarises")
	readers  = strings.Fields("keepers apprentices surveyors curators harvesters pilots gardeners printers millers weavers")
	licences = []string{"MIT", "Apache-2.0", "CC-BY-4.0", "Proprietary. LICENSE.txt has the terms"}
	sections = []string{
		"## When not to use it\n\nLeave %[1]s work of other seasons alone, and say so.\n",
		"## Output\n\nOne table with a row for each %[1]s: place, date, value, doubt.\n",
		"## Checks\n\n- Every %[2]s has a date.\n- No value is guessed.\n- Units stand in the heading.\n",
		"## Example\n\n```text\n> please make the %[1]s %[2]s for March\nok, 31 rows\n```\n",
		"## Limits\n\nMore than 400 rows are split. Ask before a %[2]s replaces an older one.\n",
	}
)

// name returns a name of two words that no skill of the repository has.
func (b *builder) name() (name, theme, craft string) {
	for {
		theme, craft = pick(b.dice, themes), pick(b.dice, crafts)
		if name = theme + "-" + craft; !b.names[name] {
			b.names[name] = true
			return name, theme, craft
		}
	}
}

func (b *builder) description(theme, craft string) string {
	return fmt.Sprintf("%s the %s %s for %s. Use when somebody asks about a %s or its %s.",
		strings.ReplaceAll(pick(b.dice, verbs), "-", " "), theme, craft, pick(b.dice, readers), theme, craft)
}

func (b *builder) body(theme, craft string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "# The %s %s\n\nRead the request twice, then collect what is known about the %s.\n\n", theme, craft, theme)
	for i := range 2 + b.roll(4) {
		fmt.Fprintf(&s, "%d. %s\n", i+1, fmt.Sprintf(pick(b.dice, []string{
			"Ask for the place and the week of the %s.", "Look the %s up in the newest list.",
			"Write down where each number about the %s comes from.", "Leave gaps in the %s open.",
		}), theme))
	}
	for range 1 + b.roll(3) {
		s.WriteString("\n" + strings.NewReplacer("%[1]s", theme, "%[2]s", craft).Replace(pick(b.dice, sections)))
	}
	return s.String()
}

// skill makes a skill by the rules below a root and returns its directory.
func (b *builder) skill(root string) string {
	name, theme, craft := b.name()
	b.skillAt(join(root, name), name, theme, craft)
	return join(root, name)
}

func (b *builder) skillAt(dir, name, theme, craft string) {
	d := b.description(theme, craft)
	front := "name: " + name + "\n"
	switch b.roll(5) {
	case 0:
		front += fmt.Sprintf("description: %q\n", d)
	case 1:
		front += "description: >-\n  " + strings.ReplaceAll(d, ". ", ".\n  ") + "\n"
	case 2:
		front = "description: '" + d + "'\n" + front
	default:
		front += "description: " + d + "\n"
	}
	if b.roll(3) == 0 {
		front += "license: " + pick(b.dice, licences) + "\n"
	}
	if b.roll(5) == 0 {
		front += "compatibility: Needs python3 and a shell\n"
	}
	if b.roll(4) == 0 {
		front += fmt.Sprintf("metadata:\n  author: acme\n  version: \"1.%d\"\n", b.roll(9))
	}
	if b.roll(5) == 0 {
		front += "allowed-tools: Read Grep Bash(git:*)\n"
	}
	text := "---\n" + front + "---\n\n" + b.body(theme, craft)
	text += b.stock(dir, theme, craft)
	b.put(join(dir, "SKILL.md"), text)
	b.add(Skill{Name: name, Dir: dir})
	b.plain = append(b.plain, dir)
}

// stock puts the other files of a skill and returns the text that points to them.
func (b *builder) stock(dir, theme, craft string) string {
	var says strings.Builder
	for range b.roll(3) {
		s := pick(b.dice, scripts)
		at := "scripts/" + theme + s.ext
		b.program(join(dir, at), strings.NewReplacer("{theme}", theme, "{craft}", craft).Replace(s.text), s.exec)
		fmt.Fprintf(&says, "\nRun `%s%s` for the numbers.\n", s.run, at)
	}
	if b.roll(2) == 0 {
		at := "references/" + strings.ToUpper(craft) + ".md"
		b.put(join(dir, at), "# Words\n\n"+b.body(theme, craft))
		fmt.Fprintf(&says, "\n[%s](%s) has the words.\n", craft, at)
	}
	if b.roll(3) == 0 {
		a := binaries[b.roll(len(binaries))]
		at := join(dir, a.dir+"/"+theme+a.ext)
		if data := a.data(b.dice); a.program {
			b.program(at, string(data), a.exec)
		} else {
			b.put(at, string(data))
		}
	}
	if b.roll(6) == 0 {
		b.put(join(dir, "assets/templates/letters/"+craft+".txt"), "Dear {{reader}},\n\nhere is the "+craft+".\n")
		b.put(join(dir, "assets/data.json"), fmt.Sprintf("{\"%s\": [%d, %d]}\n", theme, b.roll(90), b.roll(90)))
	}
	if b.roll(7) == 0 {
		b.put(join(dir, ".env.sample"), strings.ToUpper(theme)+"_TOKEN=\n")
	}
	return says.String()
}

// scripts are templates of programs; some lack the executable bit, as many in the field do.
var scripts = []struct {
	ext, run, text string
	exec           bool
}{
	{".py", "python3 ", "#!/usr/bin/env python3\n\"\"\"Print the {theme} {craft}.\"\"\"\nimport json\nimport sys\nimport urllib.request\n\nHOST = \"https://api.{theme}.example\"\n\nwith urllib.request.urlopen(HOST + \"/{craft}/\" + sys.argv[1]) as answer:\n    for row in json.load(answer):\n        print(row[\"place\"], row[\"value\"])\n", true},
	{".py", "python3 ", "import csv\nimport sys\n\n# {theme} rows by date\nfor row in sorted(csv.reader(sys.stdin)):\n    print(\"\\t\".join(row))\n", false},
	{".sh", "bash ", "#!/usr/bin/env bash\nset -euo pipefail\n# fetch the {theme} {craft}\ncurl -fsS \"https://data.{theme}.example/{craft}.csv\" | sort -t, -k2\n", true},
	{".sh", "", "#!/bin/sh\n# count the {theme} files\nfind \"${1:-.}\" -name '*{theme}*' -type f | wc -l\n", true},
	{".js", "node ", "#!/usr/bin/env node\nconst res = await fetch('https://{theme}.example/api/{craft}')\nconsole.log(JSON.stringify(await res.json(), null, 2))\n", false},
	{".mjs", "node ", "import { readFileSync } from 'node:fs'\n// the {craft} of a {theme}\nconsole.log(readFileSync(process.argv[2], 'utf8').split('\\n').length)\n", false},
	{".ps1", "pwsh ", "# {theme} {craft}\nparam([string]$Place)\nInvoke-RestMethod \"https://{theme}.example/$Place\" | Format-Table\n", false},
	{".rb", "ruby ", "#!/usr/bin/env ruby\n# {theme}\nputs ARGF.each_line.map(&:strip).uniq.sort\n", true},
	{".ts", "npx tsx ", "const {craft}: string[] = process.argv.slice(2)\nfor (const line of {craft}) console.log('{theme}', line)\n", false},
	{"", "./", "#!/usr/bin/env -S uv run --script\n# /// script\n# dependencies = [\"{theme}kit==1.2\"]\n# ///\nprint(\"{craft}\")\n", true},
}

// binaries are heads of formats with a few bytes behind: enough to be told apart, not to be run.
var binaries = []struct {
	dir, ext      string
	program, exec bool
	data          func(dice) []byte
}{
	{"assets", ".png", false, false, head("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x06\x00\x00\x00", 40)},
	{"assets", ".jpg", false, false, head("\xff\xd8\xff\xe0\x00\x10JFIF\x00", 60)},
	{"assets", ".pdf", false, false, head("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", 80)},
	{"assets/fonts", ".woff2", false, false, head("wOF2\x00\x01\x00\x00", 120)},
	{"assets/fonts", ".ttf", false, false, head("\x00\x01\x00\x00\x00\x0c\x00\x80", 120)},
	{"assets", ".sqlite", false, false, head("SQLite format 3\x00\x10\x00\x01\x01", 60)},
	{"assets", ".tar.gz", false, false, head("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 60)},
	{"assets", ".zip", false, false, zipped},
	{"assets", ".docx", false, false, zipped},
	{"bin", "", true, true, head("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00", 40)},
	{"bin", "-linux", true, false, head("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\xb7\x00\x01\x00\x00\x00", 40)},
	{"bin", ".exe", true, false, portable},
	{"bin", "-darwin", true, true, head("\xcf\xfa\xed\xfe\x0c\x00\x00\x01\x00\x00\x00\x00\x02\x00\x00\x00", 40)},
	{"bin", "-fat", true, true, head("\xca\xfe\xba\xbe\x00\x00\x00\x02\x01\x00\x00\x07\x00\x00\x00\x03", 40)},
	{"bin", ".wasm", true, false, head("\x00asm\x01\x00\x00\x00", 24)},
}

func head(magic string, more int) func(dice) []byte {
	return func(d dice) []byte { return append([]byte(magic), d.bytes(more)...) }
}

// portable is the head of a Windows program: the offset at 0x3c leads to "PE".
func portable(d dice) []byte {
	b := make([]byte, 0x80)
	copy(b, "MZ\x90\x00")
	binary.LittleEndian.PutUint32(b[0x3c:], 0x80)
	return append(append(b, "PE\x00\x00\x64\x86\x01\x00"...), d.bytes(32)...)
}

// zipped stores and does not compress, because a release of Go may compress otherwise.
func zipped(d dice) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "sheet.xml", Method: zip.Store})
	if err == nil {
		_, err = fmt.Fprintf(w, "<sheet rows=\"%d\"/>\n", d.roll(900))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // a buffer takes every write
	}
	return out.Bytes()
}
