// Holds requests and answers against GitHub's published schema, one JSON object a line in and one out.
//
//   in   {document, operationName, variables, data}
//   out  {errors, data}: the document validated, the variables coerced, and the document executed on the data

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const modules = process.argv[2];
const { buildSchema, execute, extendSchema, parse, validate } = createRequire(`${modules}/`)("graphql");

// The package is older than what GitHub publishes now (github/docs, src/graphql/data/fpt): there an option that is sent
// with its id keeps its identity, and the values of items with it.
const NEWER = ["ProjectV2SingleSelectFieldOptionInput", "id", "String"];

function published() {
  const text = readFileSync(`${modules}/@octokit/graphql-schema/schema.graphql`, "utf8");
  const schema = buildSchema(text, { assumeValidSDL: true }); // it defines a field of an enterprise's owner twice
  const [input, field, type] = NEWER;
  const isThere = field in schema.getType(input).getFields();
  return isThere ? schema : extendSchema(schema, parse(`extend input ${input} { ${field}: ${type} }`));
}

function checked(schema, { document, operationName, variables, data }) {
  const parsed = parse(document);
  const faults = validate(schema, parsed);
  if (faults.length) return { errors: faults };
  return execute({ schema, document: parsed, operationName, variableValues: variables, rootValue: data });
}

const schema = published();
for await (const line of createInterface({ input: process.stdin })) {
  const { errors = [], data = null } = checked(schema, JSON.parse(line));
  process.stdout.write(`${JSON.stringify({ errors: errors.map((one) => one.message), data })}\n`);
}
