"""Everything that is asked of GitHub, as GraphQL. `make test-node` holds each against GitHub's published schema.

An operation has a name, so that GitHub's logs and our test server can tell them apart. Whatever may have more than a
hundred is asked for page by page; an issue has at most 100 labels and 10 assignees, and a project 50 fields, so these
come whole.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ADD_COMMENT",
    "ADD_ITEM",
    "CLEAR_FIELD",
    "CLOSE_ISSUE",
    "COMMENTS",
    "CREATE_FIELD",
    "CREATE_ISSUE",
    "DELETE_COMMENT",
    "FIELDS",
    "HOME",
    "ISSUE",
    "ISSUES",
    "ITEM",
    "ITEMS",
    "REOPEN_ISSUE",
    "SET_FIELD",
    "UPDATE_FIELD",
    "UPDATE_ISSUE",
]

_CARD = """
fragment Card on ProjectV2Item {
  id
  updatedAt
  isArchived
  fieldValues(first: 100) {
    nodes {
      __typename
      ... on ProjectV2ItemFieldSingleSelectValue {
        name
        field { ... on ProjectV2FieldCommon { name } }
      }
    }
  }
  content {
    __typename
    ... on Issue {
      id
      number
      title
      body
      url
      state
      stateReason
      updatedAt
      repository { id }
      labels(first: 100) { nodes { name } }
      assignees(first: 100) { nodes { login } }
    }
  }
}
"""

# A user and an organisation are both a RepositoryOwner, so that asking for neither by kind makes no error.
HOME: Final = """
query Home($owner: String!, $repo: String!, $projectOwner: String!, $project: Int!) {
  repository(owner: $owner, name: $repo) { id }
  repositoryOwner(login: $projectOwner) {
    __typename
    ... on ProjectV2Owner { projectV2(number: $project) { id url } }
  }
}
"""

FIELDS: Final = """
query Fields($project: ID!, $after: String) {
  node(id: $project) {
    __typename
    ... on ProjectV2 {
      fields(first: 100, after: $after) {
        nodes {
          __typename
          ... on ProjectV2FieldCommon { id name }
          ... on ProjectV2SingleSelectField { options { id name color description } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""

CREATE_FIELD: Final = """
mutation CreateField($project: ID!, $name: String!, $options: [ProjectV2SingleSelectFieldOptionInput!]!) {
  createProjectV2Field(
    input: {projectId: $project, name: $name, dataType: SINGLE_SELECT, singleSelectOptions: $options}
  ) {
    clientMutationId
  }
}
"""

UPDATE_FIELD: Final = """
mutation UpdateField($field: ID!, $options: [ProjectV2SingleSelectFieldOptionInput!]!) {
  updateProjectV2Field(input: {fieldId: $field, singleSelectOptions: $options}) {
    clientMutationId
  }
}
"""

ITEMS: Final = f"""
query Items($project: ID!, $after: String) {{
  node(id: $project) {{
    __typename
    ... on ProjectV2 {{
      items(first: 100, after: $after) {{
        nodes {{ ...Card }}
        pageInfo {{ hasNextPage endCursor }}
      }}
    }}
  }}
}}
{_CARD}"""

ITEM: Final = f"""
query Item($issue: ID!, $after: String) {{
  node(id: $issue) {{
    __typename
    ... on Issue {{
      projectItems(first: 100, after: $after, includeArchived: false) {{
        nodes {{ project {{ id }} ...Card }}
        pageInfo {{ hasNextPage endCursor }}
      }}
    }}
  }}
}}
{_CARD}"""

ADD_ITEM: Final = f"""
mutation AddItem($project: ID!, $issue: ID!) {{
  addProjectV2ItemById(input: {{projectId: $project, contentId: $issue}}) {{
    item {{ ...Card }}
  }}
}}
{_CARD}"""

SET_FIELD: Final = """
mutation SetField($project: ID!, $item: ID!, $field: ID!, $option: String!, $name: String!) {
  updateProjectV2ItemFieldValue(
    input: {projectId: $project, itemId: $item, fieldId: $field, value: {singleSelectOptionId: $option}}
  ) {
    projectV2Item {
      fieldValueByName(name: $name) {
        __typename
        ... on ProjectV2ItemFieldSingleSelectValue { name }
      }
    }
  }
}
"""

CLEAR_FIELD: Final = """
mutation ClearField($project: ID!, $item: ID!, $field: ID!) {
  clearProjectV2ItemFieldValue(input: {projectId: $project, itemId: $item, fieldId: $field}) {
    clientMutationId
  }
}
"""

ISSUES: Final = """
query Issues($repository: ID!, $after: String) {
  node(id: $repository) {
    __typename
    ... on Repository {
      issues(first: 100, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) {
        nodes { id number body viewerDidAuthor authorAssociation }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""

ISSUE: Final = """
query Issue($issue: ID!) {
  node(id: $issue) {
    __typename
    ... on Issue { title body state }
  }
}
"""

CREATE_ISSUE: Final = """
mutation CreateIssue($repository: ID!, $title: String!, $body: String!) {
  createIssue(input: {repositoryId: $repository, title: $title, body: $body}) {
    issue { id }
  }
}
"""

UPDATE_ISSUE: Final = """
mutation UpdateIssue($input: UpdateIssueInput!) {
  updateIssue(input: $input) {
    clientMutationId
  }
}
"""

CLOSE_ISSUE: Final = """
mutation CloseIssue($issue: ID!, $reason: IssueClosedStateReason!) {
  closeIssue(input: {issueId: $issue, stateReason: $reason}) {
    clientMutationId
  }
}
"""

REOPEN_ISSUE: Final = """
mutation ReopenIssue($issue: ID!) {
  reopenIssue(input: {issueId: $issue}) {
    clientMutationId
  }
}
"""

COMMENTS: Final = """
query Comments($issue: ID!, $after: String) {
  node(id: $issue) {
    __typename
    ... on Issue {
      comments(first: 100, after: $after) {
        nodes { id url body viewerDidAuthor authorAssociation }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""

ADD_COMMENT: Final = """
mutation AddComment($issue: ID!, $body: String!) {
  addComment(input: {subjectId: $issue, body: $body}) {
    commentEdge { node { id url } }
  }
}
"""

DELETE_COMMENT: Final = """
mutation DeleteComment($comment: ID!) {
  deleteIssueComment(input: {id: $comment}) {
    clientMutationId
  }
}
"""
