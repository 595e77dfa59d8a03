/** What asks for a CA to be published, by its name: it is read anew whenever something is done for it. */
export type Declaration =
  /** A TenantProjection of this name. */
  | { readonly leg: 'projection'; readonly namespace: string; readonly name: string }
  /** A Secret whose labels ask for it. */
  | { readonly leg: 'label'; readonly namespace: string; readonly secret: string }
  /** A HelmRelease of a kind that the table of names has a row for. */
  | { readonly leg: 'name'; readonly namespace: string; readonly release: string }

/** The same for the same declaration, and for no other. */
export function declarationKey(declaration: Declaration): string {
  const { leg, namespace } = declaration
  return `${leg}/${namespace}/${declaredName(declaration)}`
}

/** The name of the object that declares. */
export function declaredName(declaration: Declaration): string {
  switch (declaration.leg) {
    case 'projection':
      return declaration.name
    case 'label':
      return declaration.secret
    case 'name':
      return declaration.release
  }
}
