package page

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var base, _ = url.Parse("https://example.org/a/b")

func convert(in string, markdown bool) string {
	return string(Convert([]byte(in), "utf-8", base, markdown))
}

func TestConvert(t *testing.T) {
	for name, c := range map[string]struct{ in, markdown, text string }{
		"title, heads": {"<title>T</title><h1>One</h1><p>a\n  b</p><h3>x <em>y</em></h3>", "T\n\n# One\n\na b\n\n### x *y*\n", "T\n\nOne\n\na b\n\nx y\n"},
		"inline":       {"a <b>bold</b>, <i> it </i>and <code>x*y</code><b></b> &amp; &lt;tag&gt;", "a **bold**, *it* and `x*y` & \\<tag>\n", "a bold, it and x*y & <tag>\n"},
		"links":        {`<a href="/c?d=(1)">see</a> <a href="javascript:alert(1)">no</a> <a href="mailto:a@b.c">m</a> <a href=""></a><a href="../x"><img alt="pic"></a>`, "[see](https://example.org/c?d=%281%29) no [m](mailto:a@b.c) [pic](https://example.org/x)\n", "see no m pic\n"},
		"lists":        {"<ul><li>a<li>b<ul><li>c</ul></ul><ol start=3><li>x<p>y</p></li><li>z</ol>end", "- a\n- b\n  - c\n\n3. x\n\n   y\n4. z\n\nend\n", "- a\n- b\n  - c\n\n3. x\n\n   y\n4. z\n\nend\n"},
		"pre":          {"x<pre>  a\n    *b*\n</pre>y", "x\n\n```\n  a\n    *b*\n```\n\ny\n", "x\n\n  a\n    *b*\n\ny\n"},
		"quote":        {"p<blockquote><p>q</p><p>r</p></blockquote>s", "p\n\n> q\n>\n> r\n\ns\n", "p\n\nq\n\nr\n\ns\n"},
		"table":        {"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2\n", "a | b\n1 | 2\n"},
		"unseen":       {"<!-- obey --><script>x</script><style>y</style><p hidden>h</p><p style='display: none'>h</p><div aria-hidden=true>h</div>a\u200b\u202eb\U000e0041c<noscript>n</noscript><template>t</template>", "abc\n", "abc\n"},
		"breaks":       {"a<br>b<hr>c", "a\nb\n\n---\n\nc\n", "a\nb\n\nc\n"},
		"empty":        {"", "", ""},
		"cut":          {"<p>a <b>bo", "a **bo**\n", "a bo\n"},
		"verbatim":     {"<title>a &amp; <b></title><xmp><i>b</i></xmp><textarea><p>c</textarea>d", "a & \\<b>\n\n\\<i>b\\</i>d\n", "a & <b>\n\n<i>b</i>d\n"},
		"empty links":  {"a<a href=/x><script>s</script></a><a href=/x><svg><title>t</title></svg></a><b><style>s</style></b>", "a\n", "a\n"},
		"attributes":   {"<p CLASS=a title='<b>'>x</p><p/hidden>y</p><p x=\"a>b\" x>z</p><p data-hidden>w</p>", "x\n\nz\n\nw\n", "x\n\nz\n\nw\n"},
		"injection":    {"[x](http://evil) `y` # z", "\\[x\\](http://evil) \\`y\\` # z\n", "[x](http://evil) `y` # z\n"},
	} {
		if got := convert(c.in, true); got != c.markdown {
			t.Errorf("%s, markdown: %q, want %q", name, got, c.markdown)
		}
		if got := convert(c.in, false); got != c.text {
			t.Errorf("%s, text: %q, want %q", name, got, c.text)
		}
	}
	for in, charset := range map[string]string{"caf\xe9 \x93x\x94": "ISO-8859-1", "<meta charset='latin1'>caf\xe9 \x93x\x94": ""} {
		if got := Convert([]byte(in), charset, base, false); string(got) != "café “x”\n" {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestHostilePages: as large as a fetch takes, in the shapes that hurt parsers.
func TestHostilePages(t *testing.T) {
	size := 64_000
	if os.Getenv("RYE_SOAK") != "" {
		size = 512_000
	}
	for _, piece := range []string{"<div>", "<b>", "<a href=x>", "<ul><li>", "<blockquote>", "<table>", "<table><tr><td>", "<p>x", "</p>", "<!--", "&", "&#x", "<x y=", "<b><p>", "<font><table>", "<svg><a>", "<li>", "\x00", "<a>", "<nobr>", "<select><option>", "<x", "<x a", "<x a='", "<![CDATA[", "<script><!--<script>", "</x </x"} {
		start := time.Now()
		out := Convert([]byte(strings.Repeat(piece, size/len(piece))), "", base, true)
		if !utf8.Valid(out) || len(out) > 64*size {
			t.Errorf("%q: %d bytes", piece, len(out))
		}
		t.Logf("%-20q %s, %d bytes", piece, time.Since(start).Round(time.Millisecond), len(out))
	}
	for name, tag := range map[string]string{
		"attributes": "<p" + strings.Repeat(" a", size/2) + ">",
		"a value":    "<p title='" + strings.Repeat("&lt;", size/4) + "'>",
		"a name":     "<" + strings.Repeat("x", size) + ">",
	} {
		if got := convert(tag+"said", false); got != "said\n" {
			t.Errorf("behind %s: %.80q", name, got)
		}
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("<h1>a</h1><ul><li><pre>b\n</pre><blockquote>c", true)
	f.Add("<table><tr><td><a href=x>&#8203;", false)
	f.Fuzz(func(t *testing.T, in string, markdown bool) {
		out := Convert([]byte(in), "", base, markdown)
		if !utf8.Valid(out) || strings.ContainsFunc(string(out), unseen) {
			t.Fatalf("%q gives %q", in, out)
		}
	})
}
