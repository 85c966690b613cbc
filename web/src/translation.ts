/** A text node that a translator has replaced, and the element that shows its translation. */
type Translations = WeakMap<Node, Node>;

/**
 * Keeps React working on a page that the browser translates. Translators replace text nodes by elements, but
 * React keeps the text nodes: removing one, or inserting before one, would fail, and changing one would have
 * no visible effect.
 */
export function supportTranslation(page: Document): void {
  const translations: Translations = new WeakMap();
  const observer = new MutationObserver((records) => readRecords(records));
  const readRecords = (records: readonly MutationRecord[]): void => {
    for (const record of records) {
      if (record.type === "characterData") showChange(record.target, translations);
      else noteReplaced(record, translations, (text) => observer.observe(text, { characterData: true }));
    }
  };
  observer.observe(page, { childList: true, subtree: true });
  patchNodes((parent, child) => {
    readRecords(observer.takeRecords());
    return findShown(parent, child, translations);
  });
}

/** Records which element has replaced each text node that is gone, and calls `watch` with the text node. */
function noteReplaced(
  { removedNodes, addedNodes, previousSibling, nextSibling }: MutationRecord,
  translations: Translations,
  watch: (text: Node) => void,
): void {
  for (const text of removedNodes) {
    if (text.nodeType !== Node.TEXT_NODE) continue;
    const translation = [...addedNodes, previousSibling, nextSibling].find(isTranslation);
    if (translation === undefined || translation === null) continue;
    translations.set(text, translation);
    watch(text);
  }
}

/** Google Translate, which other browsers use as well, puts translations into this element. */
function isTranslation(node: Node | null): boolean {
  return node?.nodeName === "FONT";
}

/** Shows the new value of a replaced text node, which the translator then translates. */
function showChange(text: Node, translations: Translations): void {
  const translation = translations.get(text);
  if (translation?.isConnected === true && !text.isConnected) translation.textContent = text.nodeValue;
}

/** Returns the child of `parent` that shows the text node; null if none does. */
function findShown(parent: Node, text: Node, translations: Translations): Node | null {
  const translation = translations.get(text);
  if (translation?.parentNode === parent) return translation;
  // Some translators move the text node into their element.
  let ancestor = text.parentNode;
  while (ancestor !== null && ancestor.parentNode !== parent) ancestor = ancestor.parentNode;
  return ancestor;
}

/**
 * Lets `removeChild` and `insertBefore` accept a text node that is no child any more: `find` returns what
 * shows it.
 */
function patchNodes(find: (parent: Node, text: Node) => Node | null): void {
  const { removeChild, insertBefore } = Object.getOwnPropertyDescriptors(Node.prototype);
  const isReplaced = (parent: Node, child: Node | null): child is Node =>
    child !== null && child.nodeType === Node.TEXT_NODE && child.parentNode !== parent;
  Node.prototype.removeChild = function <T extends Node>(this: Node, child: T): T {
    const actual = isReplaced(this, child) ? find(this, child) : child;
    if (actual !== null) removeChild.value?.call(this, actual);
    return child;
  };
  Node.prototype.insertBefore = function <T extends Node>(this: Node, node: T, before: Node | null): T {
    insertBefore.value?.call(this, node, isReplaced(this, before) ? find(this, before) : before);
    return node;
  };
}
