// Package program says whether a file is a program, and of what kind, by its content, name and mode.
// The bytes decide first, because a name proves nothing: an ELF file is one under any name. Names
// decide about texts, which only an interpreter distinguishes. Nothing is executed or unpacked.
//
// The judgement is for questions and lists, so it is generous: a file that one double click, one
// shell, one interpreter or one archiver would run counts. Sources of compiled languages (.go, .rs,
// .c) do not count, because a compiler has to come first.
package program

import (
	"bytes"
	"path"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Kind is a kind of program. The empty Kind is no program.
type Kind string

// The kinds.
const (
	ELF        Kind = "elf"        // Linux, BSD; libraries too
	PE         Kind = "pe"         // Windows and DOS; libraries too
	MachO      Kind = "mach-o"     // macOS and iOS, also for several processors; libraries too
	Wasm       Kind = "wasm"       // WebAssembly
	Bytecode   Kind = "bytecode"   // for the machine of a language: Java, Python, Lua, pickles
	Script     Kind = "script"     // text for an interpreter
	Build      Kind = "build"      // text with commands that a build tool runs
	Shortcut   Kind = "shortcut"   // names a command or an address to open
	Macro      Kind = "macro"      // a document with macros, or one that can have them
	Archive    Kind = "archive"    // can hold programs
	Executable Kind = "executable" // of another format: its mode or its extension is that of programs
)

// Of returns the kind of a file, and "" for a file that is no program. The path is a slash path; only
// its last name matters. executable is the file's mode 0755. An empty file is no program.
func Of(path string, data []byte, executable bool) Kind {
	kind, _ := Judge(path, data, executable)
	return kind
}

// Judge is Of with the reason, in a few words: "line 1 names bash". A reason quotes what it takes
// from the file.
func Judge(file string, data []byte, executable bool) (Kind, string) {
	if len(data) == 0 {
		return "", ""
	}
	name := lastName(file)
	ext := path.Ext(name)
	kind, why := shebang(data)
	if kind == "" && !plain(data) {
		if kind, why = machine(data); kind == "" {
			kind, why = packed(ext, data)
		}
	}
	if kind == "" {
		kind, why = byName(name, ext, data)
	}
	if kind == "" && executable {
		return Executable, "its mode is 0755"
	}
	return kind, why
}

// lastName returns the last name of a path as Windows opens it: without case, and without dots and
// blanks at its end.
func lastName(file string) string {
	name := file[strings.LastIndexAny(file, `/\`)+1:]
	return strings.TrimRight(strings.ToLower(name), ". ")
}

// shebang judges line 1. Shells run a text whose #! stands behind a byte order mark, too.
func shebang(data []byte) (Kind, string) {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !bytes.HasPrefix(text, []byte("#!")) || bytes.HasPrefix(text, []byte("#![")) {
		return "", "" // #![…] is an attribute of Rust
	}
	if name, _ := objects.Interpreter(text); name != "?" {
		return Script, "line 1 names " + words.Quote(words.Brief(name))
	}
	return Script, "line 1 begins with #!"
}

// byName judges a text, or a binary of an unknown format, by its name.
func byName(name, ext string, data []byte) (Kind, string) {
	if ext == "" {
		ext = "." // no extension is in a table
	}
	if runtime, _, _ := objects.ExecutorOf(ext, nil); runtime != "" {
		return Script, "the extension " + ext + " is that of scripts"
	}
	if why := builds(name, data); why != "" {
		return Build, why
	}
	for _, row := range extensions {
		if has(row.exts, ext) {
			return row.kind, "the extension " + ext + " " + row.why
		}
	}
	return "", ""
}

// has reports whether a list of words with blanks between them has a word.
func has(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// extensions are those of programs, beside the ones that objects.ExecutorOf knows. Extensions that
// mostly mean something else are absent (.m, .t, .dot, .pub, .plist): their programs have other signs.
var extensions = []struct {
	kind Kind
	exts string
	why  string
}{
	{Script, ".ps1 .psm1 .psd1 .ps1xml .bat .cmd .btm .vbs .vbe .jse .jsx .tsx .wsf .wsh .wsc .sct .hta .ahk .au3 " +
		".pyw .pyx .pth .ipynb .rb .pl .pm .raku .php .phtml .lua .tcl .tk .exp .awk .sed .r .jl .groovy .gradle .kts .scala .sc .swift .dart " +
		".clj .cljs .bb .ex .exs .escript .el .vim .lisp .scm .rkt .nu .elv .fish .zsh .csh .tcsh .ksh .command .tool " +
		".applescript .scpt .scptd .wat .star .nix .coffee .reg .inf .envrc", "is that of scripts"},
	{PE, ".exe .com .scr .pif .cpl .msc .dll .ocx .sys .drv .efi .xll", "is that of Windows programs"},
	{Executable, ".so .dylib .node .app .bundle .bin .run .elf .appimage .kext .ko .action .workflow", "is that of programs"},
	{Bytecode, ".class .pyc .pyo .pyd .luac .beam .dex .oat .hbc .jsc .bc .wasm", "is that of compiled code"},
	{Bytecode, ".pkl .pickle .joblib .dill .pt .ckpt", "is that of pickles, which run code as they are read"},
	{Macro, ".docm .dotm .xlsm .xltm .xlam .xlsb .xla .pptm .potm .ppsm .ppam .sldm .accdb .accde .mdb .mde .slk .iqy .chm .hlp", "is that of documents with macros"},
	{Shortcut, ".lnk .desktop .url .webloc .inetloc .fileloc .website .appref-ms .application .scf .jnlp .service .timer .socket .mobileconfig " +
		".terminal .settingcontent-ms .library-ms .search-ms .searchconnector-ms", "names what another program opens or runs"},
	{Archive, ".zip .jar .war .ear .aar .apk .aab .ipa .xpi .crx .vsix .nupkg .whl .egg .pyz .pyzw .phar .gem .mcpb .dxt .skill .tar .tgz .gz .bz2 .tbz " +
		".tbz2 .xz .txz .zst .tzst .lz .lz4 .lzma .7z .rar .cab .arj .lha .lzh .ace .cpio .deb .rpm .pkg .mpkg .xar .dmg .iso .vhd .vhdx " +
		".vmdk .qcow2 .wim .esd .msi .msix .msixbundle .msp .mst .appx .appxbundle .snap .flatpak .squashfs .asar", "is that of archives, which can hold programs"},
}

// builds says which build tool runs the commands in a file; "" for none.
func builds(name string, data []byte) string {
	for _, row := range []struct{ names, tool string }{
		{"makefile gnumakefile bsdmakefile", "make"},
		{"justfile .justfile", "just"},
		{"rakefile gemfile vagrantfile brewfile podfile fastfile guardfile capfile dangerfile", "ruby"},
		{"jenkinsfile", "Jenkins"},
		{"dockerfile containerfile", "a builder of images"},
		{"procfile", "a starter of processes"},
		{"cmakelists.txt", "cmake"},
		{"taskfile.yml taskfile.yaml", "task"},
		{".pre-commit-config.yaml", "pre-commit"},
		{"sconstruct sconscript wscript", "python"},
		{"build.xml", "ant"},
	} {
		if has(row.names, name) {
			return row.tool + " runs its commands"
		}
	}
	switch {
	case path.Ext(name) == ".mk" || path.Ext(name) == ".mak":
		return "make runs its commands"
	case name == "package.json" && bytes.Contains(data, []byte(`"scripts"`)):
		return "npm runs its scripts"
	}
	return ""
}
