// What an expression of n8n's, or the code of a Code node, finds in its context: $json, $('Node'), $now and the rest,
// and the methods that n8n adds to values. It is given `ask`, which answers with JSON texts.
'use strict';
(ask, now, zone, isCode) => {
  const { parse, stringify } = JSON;
  class NodeFault extends Error {}
  const missing = [];
  let cache = {};

  const unmodelled = (name) => {
    missing.push(name);
    throw new NodeFault(`not modelled: ${name}`);
  };
  const asked = (...given) => {
    const found = parse(ask(...given));
    if (found?.fault !== undefined && found.json === undefined) throw new NodeFault(found.fault);
    return found;
  };
  const once = (name, make) => (name in cache ? cache[name] : (cache[name] = make()));
  // A name whose value is made when it is read; what the code sets it to counts for this evaluation.
  const global = (name, get) =>
    Object.defineProperty(globalThis, name, {
      get: () => (`=${name}` in cache ? cache[`=${name}`] : get()),
      set: (value) => (cache[`=${name}`] = value),
      configurable: true,
    });
  // An object whose parts are read when they are asked for; any other part is named as not modelled.
  const parts = (what, held) =>
    new Proxy(held, {
      get(of, key) {
        if (typeof key !== 'string' || ['then', 'toJSON', 'isLuxonDateTime'].includes(key)) return undefined;
        return key in of ? of[key] : unmodelled(`${what}.${key}`);
      },
    });

  // -- items and nodes -----------------------------------------------------------------------------

  const item = () => once('item', () => (isCode ? items()[asked('about').itemIndex] : undefined) ?? asked('item'));
  const items = () => once('items', () => asked('items'));
  const about = () => once('about', () => asked('about'));
  const lists = (all) => ({ all, first: (...of) => all(...of)[0], last: (...of) => all(...of).at(-1) });
  const input = () =>
    parts('$input', {
      ...lists(items),
      get item() {
        return item();
      },
      get params() {
        return about().parameters;
      },
    });
  const node = (name) => {
    const paired = () => asked('paired', name);
    asked('node', name);
    return parts(`$(${stringify(name)})`, {
      ...lists((output, run) => asked('views', name, output, run)),
      get item() {
        return paired();
      },
      pairedItem: paired,
      itemMatching: (index) => (index === about().itemIndex ? paired() : unmodelled('.itemMatching() of another item')),
      get params() {
        return asked('node', name).parameters;
      },
      get isExecuted() {
        return asked('node', name).ran;
      },
      get context() {
        return asked('node', name).context;
      },
    });
  };
  const oldNode = (name) => {
    asked('node', name);
    return parts(`$node[${stringify(name)}]`, {
      get json() {
        return asked('place', name).json;
      },
      get data() {
        return asked('place', name).json;
      },
      get binary() {
        return asked('place', name).binary ?? {};
      },
      get parameter() {
        return asked('node', name).parameters;
      },
      get context() {
        return asked('node', name).context;
      },
      get runIndex() {
        return asked('node', name).runIndex;
      },
    });
  };
  const source = () => {
    const [name, outputIndex, runIndex] = about().source ?? [];
    return name === undefined ? {} : { name, outputIndex, runIndex };
  };

  // -- dates ---------------------------------------------------------------------------------------

  const luxon = () => {
    if (!globalThis.luxon) {
      if (!parse(ask('luxon'))) unmodelled('dates without luxon (ai-rails doctor --install javascript brings it)');
      globalThis.luxon.DateTime.prototype.toJSON = globalThis.luxon.DateTime.prototype.toString;
      Object.assign(globalThis.luxon.Settings, { defaultZone: zone, defaultLocale: 'en-US', now: () => now });
    }
    return globalThis.luxon;
  };
  const PlainDate = Date;
  PlainDate.now = () => now;
  const NowDate = new Proxy(PlainDate, {
    construct: (of, given, made) => Reflect.construct(of, given.length ? given : [now], made),
    apply: () => String(new PlainDate(now)),
  });
  const isDateTime = (value) => typeof value === 'object' && value?.isLuxonDateTime === true;
  const isDate = (value) => value instanceof PlainDate;
  const dated = (value) => (isDate(value) ? luxon().DateTime.fromJSDate(value) : value);
  const asDate = (value) => {
    if (isDateTime(value) || isDate(value)) return dated(value);
    const { DateTime } = luxon();
    const found = [
      DateTime.fromISO(String(value), { setZone: true }),
      DateTime.fromSQL(String(value), { setZone: true }),
    ].find((one) => one.isValid);
    return found ?? DateTime.fromJSDate(new PlainDate(String(value)));
  };
  const readDate = (text, form) => {
    const { DateTime } = luxon();
    if (form === 'ms' || form === 's') return fromNumber(Number(text), form);
    if (form !== undefined && form !== '') return DateTime.fromFormat(text, String(form));
    const found = asDate(text);
    if (!found.isValid) throw new NodeFault('cannot convert to Luxon DateTime');
    return found;
  };
  const fromNumber = (number, form = 'ms') => {
    const factor = { ms: 1, s: 1000, us: 0.001 }[form] ?? unmodelled(`.toDateTime(${stringify(form)})`);
    return luxon().DateTime.fromMillis(Math.trunc(number * factor));
  };
  const moved = (sign) => (date, amount, unit) => {
    const by = unit === undefined ? amount : { [unit]: amount };
    return sign > 0 ? date.plus(by) : date.minus(by);
  };
  const difference = (date, other, units = 'days') => {
    const found = date.diff(asDate(other), units);
    return Array.isArray(units) && units.length > 1
      ? found.toObject()
      : found.as(Array.isArray(units) ? units[0] : units);
  };
  const PARTS = { week: 'weekNumber', yearDayNumber: 'ordinal', 'day of year': 'ordinal' };
  const dates = {
    beginningOf: (date, unit = 'week') => date.startOf(unit),
    diffTo: difference,
    diffToNow: (date, unit) => difference(date, luxon().DateTime.now(), unit),
    endOfMonth: (date) => date.endOf('month'),
    extract: (date, unit = 'week') => date.get(PARTS[unit] ?? unit),
    format: (date, form, ...more) => date.toFormat(form, ...more),
    isBetween: (date, ...ends) => {
      const [from, to] = ends.map(asDate).sort((a, b) => a - b);
      return from < date && date < to;
    },
    isDst: (date) => date.isInDST,
    isEmpty: () => false,
    isInLast: (date, count = 0, unit = 'minutes') =>
      date <= now &&
      date >=
        luxon()
          .DateTime.now()
          .minus({ [unit]: count }),
    isNotEmpty: () => true,
    isWeekend: (date) => date.weekday > 5,
    minus: moved(-1),
    plus: moved(1),
    toDateTime: (date) => date,
    toFloat: Number,
    toInt: Number,
    toNumber: Number,
  };

  // -- what the models of nodes ask for ------------------------------------------------------------

  // As Date & Time reads a date: without a zone it is UTC, seconds and milliseconds by their length.
  const nodeDate = (value, form, named) => {
    const { DateTime } = luxon();
    const [text, number] = [String(value), Number(value)];
    let found = DateTime.fromJSDate(new PlainDate(text));
    if (form) found = DateTime.fromFormat(text, form);
    else if (!Number.isNaN(number)) {
      const whole = Number.isInteger(number) ? number : number * 1000;
      found = DateTime.fromMillis(Math.trunc(whole * (String(whole).length < 12 ? 1000 : 1)));
    }
    if (!found.isValid) throw new NodeFault('Invalid date format');
    const offset = typeof value === 'string' && /\+(\d\d)/.exec(text);
    return found.setZone(named ?? (offset ? `UTC+${offset[1]}` : 'UTC'));
  };
  const helpers = {
    millis: (value) => readDate(String(value)).toMillis(),
    date: (value) => readDate(String(value)),
    matches: (pattern, flags, text) => new RegExp(pattern, flags).test(text),
    now: (withTime, named) => {
      const date = luxon().DateTime.now().setZone(named);
      return String(withTime ? date : date.startOf('day'));
    },
    shift: (value, amount, unit, sign) => String(moved(sign)(nodeDate(value, '', zone), amount, unit)),
    write: (value, form, inZone, out) => nodeDate(value, form, inZone ? zone : undefined).toFormat(out),
    roundDown: (value, unit) => String(nodeDate(value, '', zone).startOf(unit)),
    roundUp: (value, unit) =>
      String(
        nodeDate(value, '', zone)
          .plus({ [unit]: 1 })
          .startOf(unit),
      ),
    between: (start, end, units, iso) => {
      const found = nodeDate(end, '', zone).diff(nodeDate(start, '', zone), units);
      return iso ? String(found) : found.toObject();
    },
    extract: (value, part) => nodeDate(value, '', zone).get(part === 'week' ? 'weekNumber' : part),
  };

  // -- methods that n8n adds to values -------------------------------------------------------------

  const isNothing = (value) => value === null || value === undefined;
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const isEmpty = (value) =>
    isNothing(value) ||
    value === '' ||
    (typeof value === 'object' && !isDate(value) && Object.keys(value).length === 0);
  const equal = (one, other) => {
    if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return one === other;
    if (isDate(one) || isDateTime(one)) return +one === +other;
    const keys = Object.keys(one);
    return (
      Array.isArray(one) === Array.isArray(other) &&
      keys.length === Object.keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && equal(one[key], other[key]))
    );
  };
  const has = (list, value) => list.some((one) => equal(one, value));
  const unique = (list, ...keys) => {
    const seen = [];
    return list.filter((one) => {
      const key = keys.length && isObject(one) ? Object.fromEntries(keys.map((name) => [name, one[name]])) : one;
      return !has(seen, key) && seen.push(key);
    });
  };
  const numbers = (list, name) => {
    if (!list.every((one) => typeof one === 'number'))
      throw new NodeFault(`${name}(): all array elements must be numbers`);
    return list;
  };
  const sum = (list, name = 'sum') => numbers(list, name).reduce((total, one) => total + one, 0);
  const toNumber = (text, read, what) => {
    const found = read(text.replace(/[€£¥₹$]/g, ''));
    if (Number.isNaN(found)) throw new NodeFault(`cannot convert to ${what}`);
    return found;
  };
  const isKept = (one) => !(isEmpty(one) && !isDateTime(one)) && one !== 'nil';
  const inner = (one) => (isObject(one) && !isDate(one) && !isDateTime(one) ? objects.compact(one) : one);
  const picked = (object, test) => Object.fromEntries(Object.entries(object).filter(test));
  const holding =
    (text) =>
    ([, value]) =>
      typeof value === 'string' && value.includes(String(text));

  const MAIL = /[^<>()[\]\\.,;:\s@"]+(?:\.[^<>()[\]\\.,;:\s@"]+)*@((?:[a-zA-Z\-0-9]+\.)+[a-zA-Z]{2,})/;
  const URL_IN = /(?:https?|ftp|file):\/\/[^\s"'<>)\]]+/;
  const DOMAIN = /^(?:https?:\/\/)?((?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,})(?:[:/?#].*)?$/s;
  const SMALL =
    /\b(?:an?d?|a[st]|because|but|by|en|for|i[fn]|neither|nor|o[fnr]|only|over|per|so|some|tha[tn]|the|to|up|upon|vs?\.?|versus|via|when|with|without|yet)\b/i;
  const whole = (pattern) => new RegExp(`^(?:${pattern.source})$`);
  const titled = (word, at, text) => {
    const ends = at === 0 || at + word.length === text.length;
    if (/.[A-Z]|.\../.test(word) || (SMALL.test(word) && !ends)) return word;
    return word.replace(/[A-Za-z0-9\u00c0-\u00ff]/, (letter) => letter.toUpperCase());
  };
  const HASHES = {
    md5: 'md5',
    sha1: 'sha1',
    sha224: 'sha224',
    sha256: 'sha256',
    sha384: 'sha384',
    sha512: 'sha512',
    sha3: 'sha3-512',
  };
  const strings = {
    base64Decode: (text) => asked('unbase64', text),
    base64Encode: (text) => asked('base64', text),
    extractDomain: (text) => (whole(MAIL).exec(text) ?? DOMAIN.exec(text))?.[1],
    extractEmail: (text) => MAIL.exec(text)?.[0],
    extractUrl: (text) => URL_IN.exec(text)?.[0],
    extractUrlPath: (text) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^?#]*)/i.exec(text)?.[1],
    hash: (text, algorithm = 'md5') => {
      const name = String(algorithm).toLowerCase();
      if (name === 'base64') return asked('base64', text);
      if (!Object.hasOwn(HASHES, name)) throw new NodeFault(`Unknown algorithm ${name}.`);
      return asked('hash', HASHES[name], text);
    },
    isDomain: (text) => /^(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}$/.test(text),
    isEmail: (text) => whole(MAIL).test(text),
    isNumeric: (text) => text !== '' && !text.includes(' ') && !Number.isNaN(Number(text)),
    isUrl: (text) => whole(URL_IN).test(text),
    parseJson: (text) => parse(text),
    quote: (text, mark = '"') => `${mark}${text.replaceAll('\\', '\\\\').replaceAll(mark, `\\${mark}`)}${mark}`,
    removeTags: (text) => text.replace(/<[^>]*>?/g, ''),
    toBoolean: (text) => !['', 'false', 'no', '0'].includes(text.toLowerCase()),
    toDate: (text) => new PlainDate(readDate(text).toMillis()),
    toDateTime: readDate,
    toFloat: (text) => {
      if (text.includes(',')) throw new NodeFault('cannot convert to float, expected . as decimal separator');
      return toNumber(text, parseFloat, 'float');
    },
    toInt: (text, base = 10) => toNumber(text, (one) => parseInt(one, base), 'integer'),
    toNumber: (text) => toNumber(text, Number, 'number'),
    toSentenceCase: (text) =>
      text.replace(
        /([^.!?]*?)([a-zA-Z])([^.!?]*)/g,
        (_, before, first, rest) => before + first.toUpperCase() + rest.toLowerCase(),
      ),
    toSnakeCase: (text) =>
      text
        .toLowerCase()
        .replace(/[ -]/g, '_')
        .replace(/[\u2000-\u206f\u2e00-\u2e7f\\'!"#$%&()*+,./:;<=>?@[\]^`{|}~]/g, ''),
    toTitleCase: (text) => text.replace(/[^\s:\u2013\u2014-]+/g, titled),
    urlDecode: (text, full) => (full ? decodeURI : decodeURIComponent)(text),
    urlEncode: (text, full) => (full ? encodeURI : encodeURIComponent)(text),
  };
  for (const name of ['parseJwt', 'removeMarkdown', 'replaceSpecialChars', 'toDecimalNumber', 'toWholeNumber'])
    strings[name] = () => unmodelled(`.${name}()`);
  const arrays = {
    append: (list, ...more) => [...list, ...more],
    average: (list) => (list.length ? sum(list, 'average') / list.length : 0),
    chunk: (list, size) => {
      if (typeof size !== 'number' || size < 1)
        throw new NodeFault('chunk(): expected non-zero numeric arg, e.g. .chunk(5)');
      return Array.from({ length: Math.ceil(list.length / Math.trunc(size)) }, (_, at) =>
        list.slice(at * Math.trunc(size), (at + 1) * Math.trunc(size)),
      );
    },
    compact: (list) => list.filter(isKept).map(inner),
    difference: (list, other) => unique(list.filter((one) => !has(other, one))),
    first: (list) => list[0],
    intersection: (list, other) => unique([...list, ...other].filter((one) => has(list, one) && has(other, one))),
    last: (list) => list.at(-1),
    max: (list) => numbers(list, 'max').reduce((a, b) => Math.max(a, b), -Infinity),
    merge: (list, others) =>
      Object.assign(
        {},
        ...Array.from({ length: Math.max(list.length, others.length) }, (_, at) =>
          [others[at], list[at]].filter(isObject),
        ).flat(),
      ),
    min: (list) => numbers(list, 'min').reduce((a, b) => Math.min(a, b), Infinity),
    pluck: (list, ...fields) => {
      if (!fields.length) return list;
      const rows = list.filter(isObject).map((one) =>
        Object.keys(one)
          .filter((key) => fields.includes(key))
          .map((key) => one[key]),
      );
      return rows.filter((row) => row.length).map((row) => (row.length === 1 ? row[0] : row));
    },
    randomItem: (list) => list[Math.floor(Math.random() * list.length)],
    removeDuplicates: unique,
    renameKeys: (list, ...given) => {
      const names = new Map(given.flatMap((old, at) => (at % 2 ? [] : [[old, given[at + 1]]])));
      return list.map((one) =>
        isObject(one)
          ? Object.fromEntries(Object.entries(one).map(([key, value]) => [names.get(key) ?? key, value]))
          : one,
      );
    },
    smartJoin: (list, key, value) =>
      Object.fromEntries(
        list.filter((one) => isObject(one) && key in one && value in one).map((one) => [one[key], one[value]]),
      ),
    sum,
    union: (list, other) => unique([...list, ...other]),
    unique,
  };
  const numeric = {
    abs: Math.abs,
    ceil: Math.ceil,
    floor: Math.floor,
    format: (number, locale = 'en-US', options = undefined) => new Intl.NumberFormat(locale, options).format(number),
    isEven: (number) => number % 2 === 0,
    isInteger: Number.isInteger,
    isOdd: (number) => Math.abs(number % 2) === 1,
    round: (number, digits = 0) => Number(number.toFixed(digits)),
    toBoolean: (number) => number !== 0,
    toDateTime: fromNumber,
    toFloat: Number,
    toInt: (number) => Number(number.toFixed()),
    toNumber: Number,
  };
  const booleans = { toBoolean: (value) => value, toFloat: Number, toInt: Number, toNumber: Number };
  const objects = {
    compact: (object) =>
      Object.fromEntries(
        Object.entries(object)
          .filter(([, one]) => isKept(one))
          .map(([key, one]) => [key, inner(one)]),
      ),
    hasField: (object, name) => name in object,
    keepFieldsContaining: (object, text) => picked(object, holding(text)),
    keys: Object.keys,
    merge: (object, other) => ({ ...object, ...picked(other, ([key]) => !(key in object)) }),
    removeField: (object, name) => picked(object, ([key]) => key !== name),
    removeFieldsContaining: (object, text) => picked(object, (pair) => !holding(text)(pair)),
    urlEncode: (object) =>
      Object.entries(object)
        .map((pair) => pair.map((one) => encodeURIComponent(one).replaceAll('%20', '+')).join('='))
        .join('&'),
    values: Object.values,
  };
  const any = { isEmpty, isNotEmpty: (value) => !isEmpty(value), toJsonString: (value) => stringify(value) };
  const KINDS = { string: strings, number: numeric, boolean: booleans };
  const PLAIN = Object.prototype.toString;
  const ALL = [strings, arrays, numeric, booleans, objects, dates, any];

  function methodOf(of, name) {
    const kind =
      isDateTime(of) || isDate(of)
        ? dates
        : Array.isArray(of)
          ? arrays
          : (KINDS[typeof of] ?? (PLAIN.call(of) === '[object Object]' ? objects : {}));
    if (Object.hasOwn(kind, name))
      return kind === dates ? (value, ...given) => again(of, name, dates[name](dated(value), ...given)) : kind[name];
    return typeof of[name] !== 'function' && Object.hasOwn(any, name) ? any[name] : null;
  }
  const again = (of, name, made) => (isDate(of) && isDateTime(made) && name !== 'toDateTime' ? made.toJSDate() : made);
  // A method that is called in an expression: n8n's own for the type of the value, else the value's.
  const call = (of, name, given, optional) => {
    if (isNothing(of)) {
      if (optional) return undefined;
      if (Object.hasOwn(any, name)) return any[name](of);
      if (name !== 'keys' && name !== 'values' && ALL.some((one) => Object.hasOwn(one, name)))
        throw new NodeFault(`${name}() can't be used on ${of} value`);
    }
    const own = isNothing(of) ? null : methodOf(of, name);
    return own ? own(of, ...given) : of[name](...given);
  };

  // -- global names --------------------------------------------------------------------------------

  const functions = {
    average: (...given) => (given.length ? given.reduce((total, one) => total + Number(one), 0) / given.length : 0),
    max: Math.max,
    min: Math.min,
    not: (value) => !value,
  };
  const plain = {
    ...functions,
    ...Object.fromEntries(Object.entries(functions).map(([name, one]) => [`$${name}`, one])),
    $: node,
    $if: (test, yes, no) => (test ? yes : no),
    $ifEmpty: (value, otherwise) => (isEmpty(value) ? otherwise : value),
    $items: (name, output, run) =>
      name === undefined ? unmodelled('$items() without the name of a node') : asked('views', name, output, run),
    $mode: 'manual',
    $node: new Proxy({}, { get: (_, name) => (typeof name === 'string' ? oldNode(name) : undefined) }),
    $$call: call,
    Date: NowDate,
    console: Object.fromEntries(['log', 'warn', 'error', 'info', 'debug'].map((name) => [name, () => undefined])),
    numberList: (from, to) => {
      const [first, last] = [Math.trunc(from), Math.trunc(to)];
      return Array.from({ length: Math.abs(last - first) + 1 }, (_, at) => first + Math.sign(last - first) * at);
    },
    structuredClone: (value) => parse(stringify(value)),
    zip: (keys, values) => Object.fromEntries(keys.map((key, at) => [key, values[at]])),
  };
  for (const [name, value] of Object.entries(plain))
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  const read = {
    $json: () => item().json,
    $binary: () => item().binary ?? {},
    $input: () => once('input', input),
    $itemIndex: () => about().itemIndex,
    $position: () => about().itemIndex,
    $runIndex: () => about().runIndex,
    $now: () => luxon().DateTime.now(),
    $today: () => luxon().DateTime.now().startOf('day'),
    $workflow: () => about().workflow,
    $prevNode: source,
    $parameter: () => about().parameters,
    $nodeVersion: () => about().version,
    $nodeId: () => about().id,
    DateTime: () => luxon().DateTime,
    Duration: () => luxon().Duration,
    Interval: () => luxon().Interval,
    ...(isCode ? { items } : {}),
  };
  for (const [name, get] of Object.entries(read)) global(name, get);
  const OTHERS = [
    '$env',
    '$vars',
    '$secrets',
    '$execution',
    '$executionId',
    '$resumeWebhookUrl',
    '$jmespath',
    '$jmesPath',
    '$fromAI',
    '$fromAi',
    '$fromai',
    '$evaluateExpression',
    '$getPairedItem',
    '$getWorkflowStaticData',
    '$item',
    '$data',
    '$self',
    '$rawParameter',
    '$customData',
    'require',
    'process',
    'fetch',
    'Buffer',
    'setTimeout',
    'setInterval',
    'setImmediate',
    'helpers',
    'URL',
    'URLSearchParams',
    'TextEncoder',
    'TextDecoder',
    'atob',
    'btoa',
    'crypto',
  ];
  for (const name of OTHERS) global(name, () => unmodelled(name));

  // -- what comes back -----------------------------------------------------------------------------

  const failed = (error) =>
    missing.length ? { missing: missing[0] } : { fault: String((error && error.message) || error) };
  const encoded = (value) => {
    if (missing.length) return stringify({ missing: missing[0] });
    if (typeof value === 'function') return stringify({ fault: 'this is a function, please add ()' });
    if (typeof value === 'number' && !Number.isFinite(value)) return stringify({ number: String(value) });
    return `{"value":${stringify(value) ?? '0,"undefined":true'}}`;
  };
  let done;
  const FORMS = {
    value: (value) => value,
    text: (value) =>
      typeof value === 'function' ? value : value || value === 0 || value === false ? String(value) : '',
    json: (value) => (typeof value === 'object' && value !== null ? stringify(value) : String(value)),
  };
  const $$run = (form, expression) => {
    cache = {};
    missing.length = 0;
    try {
      return encoded(FORMS[form](expression()));
    } catch (error) {
      if (missing.length || error instanceof NodeFault) return stringify(failed(error));
      return encoded(FORMS[form](undefined)); // n8n keeps an error of JavaScript's to itself
    }
  };
  const $$code = (each, run) => {
    cache = {};
    missing.length = 0;
    done = undefined;
    if (each) global('item', item);
    const self = new Proxy(
      {},
      { get: (_, name) => (typeof name === 'string' ? unmodelled(`this.${name}`) : undefined) },
    );
    const answer = (make) => (value) => {
      done = make(value);
    };
    run
      .call(self)
      .then(answer(encoded))
      .catch(answer((error) => stringify(failed(error))));
  };
  for (const [name, value] of Object.entries({ $$run, $$code, $$helpers: helpers, $$said: () => done }))
    Object.defineProperty(globalThis, name, { value });
};
