/** Rows in columns, three spaces apart, as kubectl prints them. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<readonly number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  )
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  )
  return lines.join('\n')
}
