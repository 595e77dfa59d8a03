import type { Made } from './made.ts'

/** A source's value, and what is to come of it: the certificates by name, in order, or why none. */
export interface Value {
  readonly name: string
  readonly value: Uint8Array
  readonly expected: readonly string[] | 'private-key' | 'blank' | RegExp
}

type Row = readonly [name: string, value: string | Uint8Array, expected: Value['expected']]

/** Every decision about a value, by a name. Certificates are `rsa`, `ec` and so on; text is UTF-8. */
export function valuesOf(made: Made): readonly Value[] {
  const rows: readonly Row[] = [
    ...singles(made),
    ...lineEnds(made),
    ...around(made),
    ...inside(made),
    ...markers(made),
    ...otherKinds(made),
    ...notPem(made),
    ...keys(made),
    ...hiddenKeys(made),
  ]
  return rows.map(([name, value, expected]) => ({
    name,
    value: typeof value === 'string' ? Buffer.from(value) : value,
    expected,
  }))
}

export const certificateOf = ({ certificates }: Made, name: string): string => certificates.get(name) ?? ''
export const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
const bodyOf = (pem: string): string => pem.replace(/-----[^-]+-----\n/g, '')
export const armoured = (der: Uint8Array, label = 'CERTIFICATE'): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(der).toString('base64')}\n-----END ${label}-----\n`

const singles = (made: Made): readonly Row[] =>
  Array.from(made.certificates, ([name, pem]) => [`${name} alone`, pem, [name]])

function lineEnds(made: Made): readonly Row[] {
  const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
  const both = rsa + ec
  return [
    ['two', both, ['rsa', 'ec']],
    ['the same one twice', rsa + rsa, ['rsa', 'rsa']],
    ['CRLF', both.replaceAll('\n', '\r\n'), ['rsa', 'ec']],
    ['CR', both.replaceAll('\n', '\r'), ['rsa', 'ec']],
    [
      'CRLF, then LF, then CR',
      rsa.replaceAll('\n', '\r\n') + ec + rsa.replaceAll('\n', '\r'),
      ['rsa', 'ec', 'rsa'],
    ],
    ['CR CR LF', rsa.replaceAll('\n', '\r\r\n'), ['rsa']],
    ['the last line not ended', both.trimEnd(), ['rsa', 'ec']],
    ['white space behind', `${rsa} \t\r\n\v\f\n`, ['rsa']],
    ['white space at ends of lines', rsa.replaceAll('\n', ' \t\n'), ['rsa']],
    ['white space in the base64', rsa.replace(/^(M.{20})/m, '$1 \t'), ['rsa']],
    ['empty lines in the base64', rsa.replace('-----\n', '-----\n\n \n'), ['rsa']],
    [
      'base64 in one line',
      `${rsa.slice(0, 28)}${bodyOf(rsa).replaceAll('\n', '')}\n${rsa.slice(-26)}`,
      ['rsa'],
    ],
    [
      'base64 in lines of 76',
      rsa.replace(
        bodyOf(rsa),
        bodyOf(rsa)
          .replaceAll('\n', '')
          .replace(/.{1,76}/g, '$&\n'),
      ),
      ['rsa'],
    ],
    ['a byte order mark', `\ufeff${both}`, ['rsa', 'ec']],
    ['a byte order mark before each', `\ufeff${rsa}\ufeff${ec}`, ['rsa', 'ec']],
  ]
}

function around(made: Made): readonly Row[] {
  const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
  const p11kit = '[p11-kit-object-v1]\nlabel: "x"\ntrusted: true\nnss-mozilla-ca-policy: true\n'
  const bags = 'Bag Attributes\n    localKeyID: 01 \nsubject=CN = x\n\nissuer=CN = x\n\n'
  return [
    ['text before and between', `subject=/CN=x\n${rsa}subject=/CN=y\nissuer=/CN=x\n${ec}`, ['rsa', 'ec']],
    ['attributes of a PKCS #12 bag', `${bags}${rsa}${bags}${ec}`, ['rsa', 'ec']],
    ["p11-kit's header", p11kit + rsa + p11kit + ec, ['rsa', 'ec']],
    ['a comment with four dashes', `# CA with ----BEGIN CERTIFICATE----?\n${rsa}`, ['rsa']],
    [
      'text in no encoding',
      Buffer.concat([Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a]), Buffer.from(rsa)]),
      ['rsa'],
    ],
    ['a sentence with a dash', `\u2014 begin where the private key is kept apart\n${rsa}`, ['rsa']],
    ['the words private key', `# without its private key, -- the private key is kept apart\n${rsa}`, ['rsa']],
    ['one commented out', `${rsa.replace(/^/gm, '#')}\n${ec}`, ['ec']],
    ['a marker in the middle of a line', `see -----BEGIN CERTIFICATE-----\n${rsa}`, ['rsa']],
    ['text behind', `${rsa}end of file\n`, /something follows the last certificate/],
    ['one commented out behind', `${rsa}${ec.replace(/^/gm, '#')}`, /something follows the last certificate/],
    ['a zero byte behind', `${rsa}\0`, /something follows the last certificate/],
    ['a no-break space behind', `${rsa}\u00a0`, /something follows the last certificate/],
    ['half of another behind', rsa + ec.slice(0, 200), /block 2 has no end: it may have been cut off/],
    ['base64 of another behind', rsa + bodyOf(ec), /something follows the last certificate/],
  ]
}

function inside(made: Made): readonly Row[] {
  const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
  const der = derOf(rsa)
  const begin = '-----BEGIN CERTIFICATE-----\n'
  const bad = /block 1 is no base64, or not all of it/
  const none = /block 1 is no certificate, or more than one/
  return [
    ['nothing inside', `${begin}-----END CERTIFICATE-----\n`, bad],
    ['nothing inside, then a good one', `${begin}-----END CERTIFICATE-----\n${rsa}`, bad],
    ['no base64, then a good one', `${begin}certainly not!\n-----END CERTIFICATE-----\n${rsa}`, bad],
    ['a character that is none of base64', rsa.replace(/\nM/, '\n*M'), bad],
    ['a zero byte in the base64', rsa.replace(/\nM/, '\n\0M'), bad],
    ['a character missing', rsa.replace(/\nM/, '\n'), bad],
    ['without its padding', armoured(Buffer.from([0x30, 0])).replace('MAA=', 'MAA'), bad],
    ['a bit left over', armoured(Buffer.from([0x30, 0])).replace('MAA=', 'MAB='), bad],
    ['padding in the middle', rsa.replace(/\nM/, '\n=M'), bad],
    ['base64 for addresses', armoured(der).replaceAll('+', '-').replaceAll('/', '_'), /block 1 is no base64/],
    [
      'headers',
      rsa.replace(begin, `${begin}Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n`),
      /block 1 has headers in it/,
    ],
    ['something else in it', armoured(Buffer.from('not at all a certificate')), none],
    ['an empty SEQUENCE', armoured(Buffer.from([0x30, 0])), none],
    ['half of it', armoured(der.subarray(0, 300)), none],
    ['a byte more', armoured(Buffer.concat([der, Buffer.from([0])])), none],
    ['two in one block', armoured(Buffer.concat([der, derOf(ec)])), none],
    [
      'a key behind it in the block',
      armoured(Buffer.concat([der, derOf(made.keys.get('PKCS #8, EC') ?? '')])),
      none,
    ],
    ['an encrypted key in place of it', armoured(derOf(made.keys.get('PKCS #8, encrypted') ?? '')), none],
    [
      'another beginning in the base64',
      rsa.replace(/\nM/, `\n${begin}M`),
      /block 1 has no end before the next/,
    ],
    ['a whole one in the base64', rsa.replace(/\nM/, `\n${ec}M`), /block 1 has no end before the next/],
    ['dashes in the base64', rsa.replace(/\nM/, '\n----M'), /block 1 is no base64/],
    ['the other half behind text', rsa.replace(/(\nM.{60})/, '$1\n(see below)\n'), bad],
    ['an endless one', `${begin}${'A'.repeat(900_000)}`, /block 1 has no end: it may have been cut off/],
    ['one with a bad length', armoured(Buffer.from(der).fill(0x85, 1, 2)), none],
  ]
}

function markers(made: Made): readonly Row[] {
  const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
  const begins = /block 1 begins wrongly: the line must be exactly -----BEGIN CERTIFICATE-----/
  return [
    ['in lower case', rsa.replace('BEGIN CERTIFICATE', 'begin certificate'), begins],
    ['a label in lower case', rsa.replaceAll('CERTIFICATE', 'certificate'), begins],
    ['four dashes', rsa.replace('-----BEGIN', '----BEGIN'), begins],
    ['six dashes', rsa.replace('-----BEGIN', '------BEGIN'), begins],
    ['no space', rsa.replace('BEGIN CERT', 'BEGINCERT'), /block 1 has an end and no beginning/],
    ['two spaces', rsa.replace('BEGIN CERT', 'BEGIN  CERT'), begins],
    ['base64 on the line of the beginning', rsa.replace('-----\nM', '-----M'), begins],
    ['text on the line of the beginning', rsa.replace('-----\nM', '----- # ours\nM'), begins],
    ['indented', rsa.replace(/^/gm, '  '), /block 1 is indented/],
    ...Array.from(
      '\u007f\u0085\u00a0\u00ad\u200b\u200e\u2028\u202f\u2060\u3000',
      (each): Row => [
        `U+${each.charCodeAt(0).toString(16)} before its markers, and a good one behind`,
        rsa.replace(/^-----[BE]/gm, `${each}$&`) + ec,
        /block 1 has something invisible before its first dash/,
      ],
    ),
    ['the second one indented', rsa + ec.replace(/^/gm, '\t'), /block 2 is indented/],
    ['an end alone', `-----END CERTIFICATE-----\n${rsa}`, /block 1 has an end and no beginning/],
    ['only its beginning commented out', `#${rsa}`, /block 1 has an end and no beginning/],
    ['no end', rsa.slice(0, -26), /block 1 has no end: it may have been cut off/],
    ['no end, then another', rsa.slice(0, -26) + ec, /block 1 has no end before the next one begins/],
    ['another end', rsa.replace('END CERTIFICATE', 'END X509 CRL'), /block 1 does not end with/],
    ['an end in lower case', rsa.replace('END CERTIFICATE', 'end certificate'), /block 1 does not end with/],
    ['two on one line', rsa.trimEnd() + ec, /block 1 has something behind its end, on the same line/],
    ['text on the line of the end', `${rsa.trimEnd()} # ours\n`, /block 1 has something behind its end/],
    ['an end on the line of the base64', rsa.replace('\n-----END', '-----END'), /block 1 is no base64/],
  ]
}

function otherKinds(made: Made): readonly Row[] {
  const [rsa, ec] = [certificateOf(made, 'rsa'), certificateOf(made, 'ec')]
  const other = (label: string): string => armoured(derOf(rsa), label)
  return [
    ['X509 CERTIFICATE', other('X509 CERTIFICATE'), /block 1 has an old label/],
    [
      'TRUSTED CERTIFICATE behind a good one',
      ec + other('TRUSTED CERTIFICATE'),
      /block 2 is in OpenSSL's own form/,
    ],
    ['CERTIFICATE REQUEST', other('CERTIFICATE REQUEST'), /block 1 is a request/],
    ['PKCS7', other('PKCS7'), /block 1 is PKCS #7/],
    ['X509 CRL', rsa + other('X509 CRL'), /block 2 is a revocation list/],
    ['PUBLIC KEY', other('PUBLIC KEY') + rsa, /block 1 is a public key/],
    ['DH PARAMETERS', rsa + other('DH PARAMETERS'), /block 2 is DH PARAMETERS/],
    [
      'a label that nobody knows',
      other('CORRECT HORSE'),
      /^block 1 is no CERTIFICATE: leave only certificates$/,
    ],
    ['ATTRIBUTE CERTIFICATE', other('ATTRIBUTE CERTIFICATE'), /^block 1 is no CERTIFICATE/],
    ['CERTIFICATE CHAIN', other('CERTIFICATE CHAIN'), /^block 1 is no CERTIFICATE/],
  ]
}

function notPem(made: Made): readonly Row[] {
  const rsa = certificateOf(made, 'rsa')
  const utf16 = Buffer.from(`\ufeff${rsa}`, 'utf16le')
  return [
    ['nothing', '', 'blank'],
    ['white space', ' \t\r\n\v\f\n', 'blank'],
    ['a byte order mark alone', '\ufeff\n', 'blank'],
    ['a zero byte alone', '\0', /it holds no line -----BEGIN CERTIFICATE-----/],
    ['words', 'changeme', /it holds no line -----BEGIN CERTIFICATE-----/],
    ['DER', derOf(rsa), /it is binary \(DER\), not PEM: convert it with `openssl x509 -inform der/],
    ['DER of Ed25519', derOf(certificateOf(made, 'ed25519')), /it is binary \(DER\)/],
    [
      'base64 of PEM',
      Buffer.from(rsa).toString('base64'),
      /it is base64 of PEM: it was encoded once too often/,
    ],
    [
      'base64 of DER',
      derOf(rsa).toString('base64'),
      /it is a certificate without -----BEGIN CERTIFICATE-----/,
    ],
    ['base64 of DER in lines', bodyOf(rsa), /it is a certificate without -----BEGIN CERTIFICATE-----/],
    ['quoted', JSON.stringify(rsa).slice(1, -1), /block 1 begins wrongly/],
    ['quoted, with its quotes', JSON.stringify(rsa), /its line ends are written as \\n/],
    ['UTF-16', utf16, /it is UTF-16/],
    ['UTF-16 the other way round', Buffer.from(utf16).swap16(), /it is UTF-16/],
    ['UTF-16 without a mark', utf16.subarray(2), /it is UTF-16/],
    [
      'UTF-16 behind UTF-8',
      Buffer.concat([Buffer.from(rsa), utf16]),
      /something follows the last certificate/,
    ],
    ['zero bytes for line ends', rsa.replaceAll('\n', '\0'), /block 1 begins wrongly/],
    ['line separators of Unicode for line ends', rsa.replaceAll('\n', '\u2028'), /block 1 begins wrongly/],
    [
      'en dashes',
      rsa.replaceAll('-----', '\u2013'.repeat(5)),
      /it holds no line -----BEGIN CERTIFICATE-----/,
    ],
    ['em dashes before a good one', rsa.replaceAll('-----', '\u2014\u2014-') + rsa, ['rsa']],
    ['one long line', `${'x'.repeat(900_000)}\n${rsa}`, ['rsa']],
    ['many short lines', `${'-\n'.repeat(450_000)}${rsa}`, ['rsa']],
  ]
}

function keys(made: Made): readonly Row[] {
  const rsa = certificateOf(made, 'rsa')
  const key = made.keys.get('PKCS #8, EC') ?? ''
  const of = (label: string): string => armoured(derOf(key), label)
  return [
    ...Array.from(made.keys, ([name, pem]): Row => [name, pem, 'private-key']),
    ...Array.from(
      made.keys,
      ([name, pem]): Row => [`${name}, behind a certificate`, rsa + pem, 'private-key'],
    ),
    ['before a certificate', key + rsa, 'private-key'],
    ['between certificates', rsa + key + rsa, 'private-key'],
    ['commented out', rsa + key.replace(/^/gm, '# '), 'private-key'],
    ['OpenSSH', rsa + of('OPENSSH PRIVATE KEY'), 'private-key'],
    [
      'SSH2',
      `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n${rsa}`,
      'private-key',
    ],
    [
      'PGP',
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----\n${rsa}`,
      'private-key',
    ],
    ['any', of('ANY PRIVATE KEY') + rsa, 'private-key'],
    ['DSA', of('DSA PRIVATE KEY') + rsa, 'private-key'],
    ['only the beginning of its marker', `${rsa}-----BEGIN PRIVATE KEY`, 'private-key'],
    ['base64 of both', Buffer.from(rsa + key).toString('base64'), 'private-key'],
    ['after what is wrong by itself', `-----BEGIN NONSENSE-----\n${key}`, 'private-key'],
    ['in more than a Secret holds', `${' '.repeat(2 ** 20)}${key}`, 'private-key'],
    ...plainKeys(made).flatMap(([name, der]): readonly Row[] => [
      [`${name}, in DER`, der, 'private-key'],
      [`${name}, in base64 of DER`, der.toString('base64'), 'private-key'],
      [`${name}, as a certificate`, rsa + armoured(der), 'private-key'],
      [
        `${name}, as a certificate behind none`,
        armoured(derOf(rsa).fill(0, 9, 90)) + armoured(der),
        'private-key',
      ],
    ]),
  ]
}

const plainKeys = ({ keys }: Made): readonly (readonly [string, Buffer])[] =>
  Array.from(keys, ([name, pem]) => [name, derOf(pem)] as const).filter(
    ([name]) => !name.includes('encrypted'),
  )

/** What a reader that is more lenient than ours might still read as a key. */
function hiddenKeys(made: Made): readonly Row[] {
  const rsa = certificateOf(made, 'rsa')
  const key = made.keys.get('SEC 1') ?? ''
  const marker = (from: string, to: string): string => rsa + key.replace(from, to)
  const utf32 = Buffer.from(Array.from(rsa + key, (each) => [each.charCodeAt(0), 0, 0, 0]).flat())
  const hidden: readonly (readonly [string, string | Uint8Array])[] = [
    ['lower case', rsa + key.toLowerCase()],
    ['mixed case', marker('BEGIN EC PRIVATE', 'bEgIn eC pRiVaTe')],
    ['more spaces', marker('EC PRIVATE KEY', 'EC  PRIVATE   KEY')],
    ['no spaces', marker('BEGIN EC PRIVATE KEY', 'BEGINECPRIVATEKEY')],
    ['tabs', marker('EC PRIVATE KEY', 'EC\tPRIVATE\tKEY')],
    ['a space behind the dashes', marker('-----BEGIN', '----- BEGIN')],
    ['line ends in the marker', marker('EC PRIVATE KEY', 'EC\r\nPRIVATE\nKEY')],
    ['a vertical tab', marker('EC PRIVATE', 'EC\vPRIVATE')],
    ['zero bytes', marker('EC PRIVATE', 'EC PRI\0VATE')],
    ['backspaces', marker('PRIVATE', 'PRIVATE\b')],
    ['no-break spaces', marker('EC PRIVATE KEY', 'EC\u00a0PRIVATE\u00a0KEY')],
    ['a soft hyphen', marker('PRIVATE', 'PRI\u00advate')],
    ['a zero-width space', marker('PRIVATE', 'PRI\u200bVATE')],
    ['a byte order mark in the marker', marker('BEGIN EC', 'BEGIN\ufeff EC')],
    ['underscores', marker('EC PRIVATE KEY', 'EC_PRIVATE_KEY')],
    ['indented', rsa + key.replace(/^/gm, '    ')],
    ['behind text on the line', marker('-----BEGIN', 'key: "-----BEGIN')],
    ['CR', (rsa + key).replaceAll('\n', '\r')],
    ['no line ends at all', (rsa + key).replaceAll('\n', '')],
    ['quoted', JSON.stringify({ ca: rsa, key })],
    ['three dashes', marker('-----BEGIN', '---BEGIN')],
    ['en dashes', `${key.replaceAll('-----', '\u2013'.repeat(5))}.\n${rsa}`],
    ['em dashes', `${key.replaceAll('-----', '\u2014\u2014-')}.\n${rsa}`],
    ...Array.from(
      '\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d',
      (dash) => [`dashes ${dash}`, `${key.replaceAll('-', dash)}.\n${rsa}`] as const,
    ),
    ['a long label', marker('EC PRIVATE', `${'VERY '.repeat(100)}PRIVATE`)],
    ['the sign of the kelvin', marker('KEY', '\u212aEY')],
    ['lines turned', marker('EC PRIVATE KEY', 'EC\u2028PRIVATE\u2029KEY')],
    ['an address', marker('EC PRIVATE KEY', 'EC%20PRIVATE%20KEY')],
    ['an address with no-break spaces', marker('EC PRIVATE KEY', 'EC%C2%A0PRIVATE%C2%A0KEY')],
    ['JSON', marker('EC PRIVATE KEY', 'EC\\u0020PRIVATE\\u0020KEY')],
    ['HTML', marker('EC PRIVATE KEY', 'EC&nbsp;PRIVATE&nbsp;KEY')],
    ['HTML by numbers', marker('EC PRIVATE KEY', 'EC&#32;PRIVATE&#x20;KEY')],
    ['quoted-printable', marker('EC PRIVATE KEY', 'EC=20PRIVATE=20KEY')],
    ['dashes made by smart typography', `${key.replaceAll('-----', '\u2014\u2013')}.\n${rsa}`],
    [
      'wide letters',
      `see ${marker('PRIVATE KEY', '\uff30\uff32\uff29\uff36\uff21\uff34\uff25 \uff2b\uff25\uff39')}`,
    ],
    [
      'wide small letters',
      marker('PRIVATE KEY', '\uff50\uff52\uff49\uff56\uff41\uff54\uff45 \uff4b\uff45\uff59'),
    ],
    ['letters apart', marker('PRIVATE KEY', 'P R I V A T E  K E Y')],
    ['UTF-16', Buffer.from(rsa + key, 'utf16le')],
    ['UTF-16 the other way round', Buffer.from(rsa + key, 'utf16le').swap16()],
    ['UTF-32', utf32],
    ['UTF-16 behind UTF-8', Buffer.concat([Buffer.from(rsa), Buffer.from(key, 'utf16le')])],
    ['inside the base64 of a certificate', rsa.replace('-----\nM', `-----\n${key}M`)],
    ['as a header of a block', rsa.replace('-----\nM', '-----\nX: -----BEGIN PRIVATE KEY-----\n\nM')],
  ]
  return hidden.map(([name, value]) => [`a key: ${name}`, value, 'private-key'])
}
