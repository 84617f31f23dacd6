package foreign

// Head returns the fields and the body of a text with front matter, as the clients that made it
// read it: line by line, because it is often no YAML. A list or a block is one line of text.
func Head(data []byte) (fields map[string]string, body string) {
	m := frontMatter(data)
	return m.fields, m.body
}
