// What this tab remembers of the statements that ran. It belongs to one account: a statement may hold values that others must not see.

export const HISTORY = 'peristyle-docs.history';
export const GRAPHQL_RAN = 'peristyle-graphql.ran';
const OWNER = 'peristyle-docs.account';

export function forgetStatements() {
  for (const key of [HISTORY, GRAPHQL_RAN, OWNER]) sessionStorage.removeItem(key);
}

/** Forgets the statements of another account. Those of the anonymous account, '', stay after a sign-in. */
export function keepStatementsOf(account) {
  const owner = sessionStorage.getItem(OWNER) ?? '';
  if (owner !== '' && owner !== account) forgetStatements();
  if (account !== '') sessionStorage.setItem(OWNER, account);
}
