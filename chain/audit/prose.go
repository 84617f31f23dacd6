package audit

import "strings"

// Malicious skills often have no bad file of their own. Instead a paragraph asks the reader to
// fetch a program and run it.

var (
	fetches  = &pattern{text: `(?i)\b(download|fetch|get|grab|obtain|visit|go to|open|navigate to|install)\b`}
	link     = &pattern{text: `(?i)\bhttps?://[^\s)>"'` + "`" + `]+`}
	runs     = &pattern{text: `(?i)\b(run|execute|launch|start|double-click|open|extract|unzip|unpack|chmod \+x)\b`}
	runsIt   = &pattern{text: `(?i)\b(run|execute|launch|start|double-click)\s+(it|this|the (file|binary|installer|setup|program|script|executable|agent|helper|tool|downloaded)\w*)\b`}
	program  = &pattern{text: `(?i)[\w/.-]+\.(exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|jar|appimage|run|deb|rpm|apk|command|sh|zip|rar|7z|tgz|tar\.gz|bin)\b`}
	drop     = &pattern{text: `(?i)https?://(\d{1,3}(\.\d{1,3}){3}(:\d+)?/|([\w-]+\.)*(pastebin\.com|rentry\.(co|org)|glot\.io|hastebin\.com|transfer\.sh|file\.io|anonfiles\.com|mediafire\.com|mega\.nz|bit\.ly|tinyurl\.com|t\.ly|is\.gd|cutt\.ly|ngrok(-free)?\.(io|app)|trycloudflare\.com|cdn\.discordapp\.com|0x0\.st|paste\.\w+|webhook\.site|gofile\.io)/)`}
	pastes   = &pattern{text: `(?i)\b(copy|paste)\b[^.\n]{0,80}\b(in(to)?|to)\s+(your |the |a )?(terminal|shell|console|command prompt|powershell)\b`}
	password = &pattern{text: `(?i)\b(password|passphrase|pass)\s*(is|:|=)?\s*["'` + "`" + `]?\w+`}
	disarms  = &pattern{text: `(?i)(xattr\s+-[cdr]+\s+(com\.apple\.quarantine|\S)|spctl\s+--master-disable|Set-ExecutionPolicy\s+(-\w+\s+\w+\s+)*(Bypass|Unrestricted)|\b(disable|turn off)\s+(your |the )?(antivirus|anti-virus|windows defender|defender|gatekeeper|firewall|SmartScreen)|Set-MpPreference\s+-Disable)`}
)

const maxNear = 4 // lines of a paragraph that are read together

// paragraph reads a line of prose together with the lines before it.
func (s *scan) paragraph(line string) {
	if mayDisarm(line) && disarms.get().MatchString(line) {
		s.add("prerequisite", High, s.line, line, "it asks to turn off the machine's protection")
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	s.near = append(s.near, line)
	if len(s.near) > maxNear {
		s.near = s.near[1:]
	}
	text := strings.Join(s.near, " ")
	if !strings.Contains(text, "://") {
		return
	}
	if says, severity := sends(text); severity > 0 {
		s.add("prerequisite", severity, s.line, line, says)
		s.near = s.near[:0]
	}
}

// mayDisarm is a fast check, true for every match of disarms.
func mayDisarm(line string) bool {
	for _, w := range []string{"xattr", "spctl", "MpPreference", "isable", "urn off", "ISABLE", "URN OFF", "xecution", "XECUTION"} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// sends returns how a paragraph asks its reader to fetch a program and run it; 0 if it does not.
func sends(text string) (string, Severity) {
	if !fetches.get().MatchString(text) || !link.get().MatchString(text) {
		return "", 0
	}
	switch {
	case pastes.get().MatchString(text):
		return "it sends its reader to a page with commands to paste", High
	case drop.get().MatchString(text) && (runs.get().MatchString(text) || program.get().MatchString(link.get().FindString(text))):
		return "it sends its reader to download a program from a site where anyone can upload", High
	case archived(text) && password.get().MatchString(text):
		return "it sends its reader to download an archive that no scanner can open", High
	case program.get().MatchString(text) && runsIt.get().MatchString(text), runsIt.get().MatchString(text) && strings.Contains(strings.ToLower(text), "download"):
		return "it sends its reader to download a program and run it", High
	}
	return "", 0
}

func archived(text string) bool {
	low := strings.ToLower(text)
	for _, w := range []string{".zip", ".rar", ".7z", "archive", "extract", "unzip"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}
