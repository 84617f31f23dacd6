// Package fieldcorpus makes repositories as the field has them, for tests of what reads them.
//
// The corpus was written from a description of the field alone, and by somebody who had not read
// the code that imports it. So it holds no assumption of that code, and must not be fitted to it:
// where a test and the corpus part ways, the description of the field decides.
//
// Everything is made up. The bytes follow from a fixed seed, so a test may keep a digest of them.
//
// # What is true about a skill
//
// [Skill.Usable] follows the rules that the clients have in common. A client skips a skill whose
// front matter is absent or is not YAML, even with the values that hold a colon in quotes. It
// skips a skill without a description. It refuses a name of more than 64 characters, a description
// of more than 1024, a SKILL.md that is a link, and a directory outside of the repository. It does
// not find what lies too deep or in a directory of build results. A plugin of the Agent Plugins
// form has only the immediate children of skills/.
//
// A linked directory inside of the repository is a second way to a skill, not a second skill.
//
// Everything else is a warning: the client takes the skill, and [Skill.Warn] names the rule.
package fieldcorpus
