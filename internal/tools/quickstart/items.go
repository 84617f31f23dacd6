package main

// countTool is the tool of the story.
const countTool = `#!/bin/bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Count the files of the project's data
# needs: {read: [data], write: [], net: []}
cd "$2" || exit 1
find data -type f | wc -l
`

// tallyDirective is the directive of the thread; its provider answers from a script.
const tallyDirective = "# Tally\n\n```xml\n" + `<directive name="tally" version="1.0.0">
  <metadata>
    <description>Count the data files and say whether that is enough</description>
    <category>acme</category>
    <author>alice</author>
    <model tier="general" provider="acme/scripted"/>
    <limits turns="6" spend="0.05"/>
    <permissions><execute><tool>acme.count</tool></execute></permissions>
  </metadata>
  <outputs>
    <output name="verdict">enough, or too few</output>
  </outputs>
</directive>
` + "```\n\nCount the files with `acme/count`. Two are enough.\n"

// scriptedModel first makes its allowed call, and then one that it may not make.
const scriptedModel = `version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that answers from a script
config:
  mock:
    turns:
      - say: "I count, and I try to look into the system."
        calls:
          - {name: rye_execute, args: {item_type: tool, item_id: acme/count}}
          - {name: rye_execute, args: {item_type: tool, item_id: rye/core/system/info}}
      - say: "There are ${result.0.text}, and the system is none of my business."
        calls: [{name: directive_return, args: {verdict: enough}}]
`
