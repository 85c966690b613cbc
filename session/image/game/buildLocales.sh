#!/bin/sh
# buildLocales.sh ARCHIVE: compiles the locales of common languages with UTF-8 into an archive.
#
# All sort by the international standard (ISO 14651), as en_US does. Most languages' own orders would add 2.6 MB
# each, to about 70 MB.
set -eu
languages="ar_EG ar_SA bg_BG ca_ES cs_CZ da_DK de_AT de_CH de_DE el_GR en_AU en_CA en_GB en_IE en_IN en_NZ en_US en_ZA es_AR
es_CL es_CO es_ES es_MX es_US et_EE eu_ES fa_IR fi_FI fr_BE fr_CA fr_CH fr_FR gl_ES he_IL hi_IN hr_HR hu_HU id_ID it_CH it_IT
ja_JP ko_KR lt_LT lv_LV ms_MY nb_NO nl_BE nl_NL pl_PL pt_BR pt_PT ro_RO ru_RU sk_SK sl_SI sr_RS sv_SE th_TH tr_TR uk_UA vi_VN
zh_CN zh_HK zh_TW"
sources=/usr/share/i18n/locales
work=$(mktemp -d)

# Exit code 1 of localedef means warnings.
compile() { localedef --no-archive -i "$1" -f UTF-8 "$2" 2>/dev/null || [ $? -eq 1 ]; }

compile en_US "$work/en_US.UTF-8"
for language in $languages; do
  [ "$language" != en_US ] || continue
  awk '/^END LC_COLLATE/ {skip = 0; print "codepoint_collation"} !skip {print} /^LC_COLLATE/ {skip = 1}' \
    "$sources/$language" >"$work/source"
  compile "$work/source" "$work/$language.UTF-8"
  cp "$work/en_US.UTF-8/LC_COLLATE" "$work/$language.UTF-8/"
done
mkdir -p /usr/lib/locale "$(dirname "$1")"
rm -f /usr/lib/locale/locale-archive
localedef --add-to-archive "$work"/*.UTF-8 >/dev/null
cp /usr/lib/locale/locale-archive "$1"
rm -rf "$work"
