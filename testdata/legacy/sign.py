"""Signs files the way RYE OS did. An independent reading of its rules: nothing here
comes from rye's own code, so that the two can disagree.

Reads JSON on standard input and writes JSON on standard output.

  {"public": hex of the raw Ed25519 key, "files": [{"type": t, "text": s}, ...]}
      -> {"fingerprint": 16 digits, "messages": [what to sign, one for each file]}
  the same with "signatures": [hex, ...] and "time": "YYYY-MM-DDTHH:MM:SSZ"
      -> {"files": [the signed text, ...]}

The rules: a directive is hashed from the first <directive ...> to the last
</directive>, stripped. A tool is hashed without its shebang and signature lines,
exact bytes. Knowledge is hashed without its signature line, exact bytes; but when
the rest begins with ---, only the stripped text behind the second --- counts. The
Ed25519 message is the hexadecimal SHA-256 as ASCII. The fingerprint is the first 16
digits of the SHA-256 of the public key's PEM text with its last line feed.
"""

import base64
import hashlib
import json
import re
import sys


def payload(kind, text):
    if kind == "directive":
        start = re.search(r"<directive[^>]*>", text).start()
        end = text.rindex("</directive>") + len("</directive>")
        return text[start:end].strip()
    if kind == "tool":
        if text.startswith("#!/"):
            return text.split("\n", 1)[1]
        return text
    if text.startswith("---"):
        return text.split("---", 2)[2].strip()
    return text


def fingerprint(raw):
    der = bytes.fromhex("302a300506032b6570032100") + raw
    pem = "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n" % base64.b64encode(der).decode()
    return hashlib.sha256(pem.encode()).hexdigest()[:16]


def signed(kind, text, line):
    if kind != "tool":
        return "<!-- %s -->\n%s" % (line, text)
    if text.startswith("#!/"):
        first, rest = text.split("\n", 1)
        return "%s\n# %s\n%s" % (first, line, rest)
    return "# %s\n%s" % (line, text)


def main():
    job = json.loads(sys.stdin.buffer.read().decode())
    print_ = fingerprint(bytes.fromhex(job["public"]))
    sums = [hashlib.sha256(payload(f["type"], f["text"]).encode()).hexdigest() for f in job["files"]]
    if "signatures" not in job:
        out = {"fingerprint": print_, "messages": sums}
    else:
        out = {"files": []}
        for f, digest, sig in zip(job["files"], sums, job["signatures"]):
            b64 = base64.urlsafe_b64encode(bytes.fromhex(sig)).decode()
            line = "rye:signed:%s:%s:%s:%s" % (job["time"], digest, b64, print_)
            out["files"].append(signed(f["type"], f["text"], line))
    sys.stdout.buffer.write(json.dumps(out).encode())


main()
