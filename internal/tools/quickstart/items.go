package main

// The items that alice writes. The same texts are in rye/reference/items of the
// standard library, which teaches them.

const helloTool = `"""Greet somebody."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "acme"
__tool_description__ = "Greet somebody by name"

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "default": "world"}},
    "additionalProperties": False,
}

import argparse
import json

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--params", default="{}")
    parser.add_argument("--project-path", default=".")
    args = parser.parse_args()
    params = json.loads(args.params)
    print(json.dumps({"greeting": "Hello, " + params.get("name", "world") + "!"}))
`

const countTool = `#!/bin/bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Count the files of the project's data
# needs: {read: [data], write: [], net: []}
cd "$2" || exit 1
test -d data || { echo 0; exit; }
find data -type f | wc -l
`

const reviewDirective = "# Review a file\n\n```xml\n" + `<directive name="review" version="1.0.0">
  <metadata>
    <description>Review one file and report what could break</description>
    <category>acme</category>
    <author>alice</author>
    <limits turns="8" tokens="40000"/>
    <permissions><load>*</load></permissions>
  </metadata>
  <inputs>
    <input name="path" type="string" required="true">The file to read</input>
  </inputs>
</directive>
` + "```\n\nRead {input:path} and list what could break, worst first.\n"

const styleKnowledge = `---
id: style
title: How we write
version: 1.0.0
entry_type: reference
category: acme
description: House style for reports
tags: [style, writing]
---

Short sentences. Facts first.
`
