package objects

import "strings"

// comment is the syntax of a one-line comment in a file type.
type comment struct{ open, close string }

var (
	hash   = comment{open: "#"}
	slash  = comment{open: "//"}
	dashes = comment{open: "--"}
	angle  = comment{open: "<!--", close: "-->"}
)

// comments maps an extension to its comment syntax. A type that is missing here
// cannot carry a signature line and is covered by a bundle manifest instead.
// The table is fixed, not configurable: it decides where rye looks for a signature.
var comments = map[string]comment{
	".py": hash, ".sh": hash, ".bash": hash, ".zsh": hash, ".fish": hash, ".ksh": hash,
	".yaml": hash, ".yml": hash, ".toml": hash, ".rb": hash, ".pl": hash, ".r": hash,
	".jl": hash, ".awk": hash, ".sed": hash, ".tcl": hash, ".nu": hash, ".ps1": hash,
	".ex": hash, ".exs": hash, ".nix": hash, ".star": hash, ".jq": hash, ".mk": hash,

	".js": slash, ".mjs": slash, ".cjs": slash, ".jsx": slash,
	".ts": slash, ".mts": slash, ".cts": slash, ".tsx": slash,
	".go": slash, ".rs": slash, ".c": slash, ".h": slash, ".cc": slash, ".cpp": slash,
	".java": slash, ".kt": slash, ".kts": slash, ".swift": slash, ".scala": slash,
	".cs": slash, ".dart": slash, ".zig": slash, ".groovy": slash,

	".lua": dashes, ".sql": dashes, ".hs": dashes,

	".md": angle, ".markdown": angle, ".html": angle, ".htm": angle, ".xml": angle, ".svg": angle,
}

// extOf returns the extension of a slash path with its dot, "" when there is none.
func extOf(path string) string {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 || dot < strings.LastIndexByte(path, '/') {
		return ""
	}
	return path[dot:]
}

// line returns text as a comment of its own line, without the line feed.
func (c comment) line(text string) string {
	if c.close == "" {
		return c.open + " " + text
	}
	return c.open + " " + text + " " + c.close
}

// CarriesLine reports whether a file of this type can carry a signature line. A bundle's
// manifest can cover a file that cannot.
func CarriesLine(path string) bool {
	_, ok := comments[extOf(path)]
	return ok
}

// CommentBlock returns text as a block of comments for the file at path, as metadata
// that is ready to paste. It returns false for a file type without comments.
func CommentBlock(path, text string) (string, bool) {
	c, ok := comments[extOf(path)]
	if !ok {
		return "", false
	}
	text = strings.TrimSuffix(text, "\n")
	if c.close != "" {
		return c.open + "\n" + text + "\n" + c.close + "\n", true
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(c.open+" "+line, " ") + "\n")
	}
	return b.String(), true
}
