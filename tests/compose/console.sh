# Sourced by check.sh: the console that the image contains, with the session that was just delivered.

# head_of <path> [header]: the answer's headers, in small letters.
head_of() { curl -s --max-time 10 -o /dev/null -D - "$ingress$1" ${2:+-H "$2"} | tr -d '\r' | tr '[:upper:]' '[:lower:]'; }

page=$(curl -s --max-time 10 "$ingress/console")
grep -q '<div id="console"' <<<"$page" || fail "/console is not the page: $page"
grep -q "frame-ancestors 'none'" <<<"$(head_of /console)" || fail 'the page may be framed'
script=$(grep -oE '/console/assets/[A-Za-z0-9_-]+\.js' <<<"$page" | head -n 1)
[ -n "$script" ] || fail "the page names no script: $page"
for encoding in br gzip; do
  answer=$(head_of "$script" "Accept-Encoding: $encoding")
  for wanted in "content-encoding: $encoding" 'cache-control: .*immutable'; do
    grep -qE "^$wanted" <<<"$answer" || fail "$script has no $wanted: $answer"
  done
done
held "the console is in the image; $script is immutable, and compressed with brotli and gzip"

link=$(inside ingress 'angelia console 2>/dev/null')
code=${link#*#}
[[ $link == "$ingress/console/"* ]] || fail "the link does not begin with $ingress: $link"
sign_in() { curl -s --max-time 10 -c "$scratch/cookies" -w '\n%{http_code}' "$ingress/console/session" -H 'Content-Type: application/json' -d "{\"code\":\"$code\"}"; }
answer=$(sign_in)
[ "${answer##*$'\n'}" = 200 ] || fail "the link does not sign in: $answer"
seen=$(curl -s --max-time 10 -b "$scratch/cookies" "$ingress/v1/sessions/$first_session")
grep -q '"status": *"ended"' <<<"$seen" || fail "the cookie does not show session $first_session: $seen"
grep -q '"delivered": *1' <<<"$seen" || fail "session $first_session is not delivered: $seen"
[ "$(sign_in | tail -n 1)" = 401 ] || fail 'a link signs in twice'
held 'angelia console prints a link that signs in, once; the browser sees the session as delivered'
