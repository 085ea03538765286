// Tables as text, for the clipboard: the same bytes as `heddle`'s own tables (src/table/write.c).

export interface TextColumn {
  title: string;
  right: boolean; // numbers
}

type TextCell = string | number | null;

const CONTROL = /[\u0000-\u001f\u007f\u2028\u2029]+/g;

// Kernel names have many characters that are markup in Markdown: gemm<float*, 4>, __half.
function markdownText(text: string): string {
  const line = text.replace(CONTROL, " ");
  return line.replace(/[\\`*<[|]|_/g, (found, at: number) => {
    const word = /[0-9A-Za-z]/;
    const inWord = at > 0 && word.test(line[at - 1] ?? "") && word.test(line[at + 1] ?? "");
    return found === "_" && inWord ? found : `\\${found}`;
  });
}

export function markdownTable(columns: readonly TextColumn[], rows: readonly (readonly TextCell[])[]): string {
  const lines = [
    `| ${columns.map((column) => markdownText(column.title)).join(" | ")} |`,
    `|${columns.map((column) => (column.right ? " ---: |" : " --- |")).join("")}`,
  ];
  for (const row of rows) {
    const cells = row.map((cell) => (cell === null ? "" : typeof cell === "number" ? String(cell) : markdownText(cell)));
    lines.push(`| ${cells.join(" | ")} |`);
  }
  return lines.join("\n") + "\n";
}

const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i;

function csvText(text: string): string {
  const cell = /^[=+\-@\t\r\u001b]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return cell === "" || /[",\r\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell;
}

export function csvTable(columns: readonly TextColumn[], rows: readonly (readonly TextCell[])[]): string {
  const lines = [columns.map((column) => csvText(column.title)).join(",")];
  for (const row of rows) {
    lines.push(row.map((cell) => (cell === null ? "" : typeof cell === "number" ? String(cell) : csvText(cell))).join(","));
  }
  return lines.join("\n") + "\n";
}
