#!/bin/sh
# Installs bcd {{version}} and joins this machine to the pool {{pool}}.
# Made by: better-compute daemon install-script. It holds no secret.
#
#   sudo sh install-bcd.sh < token-file
#   BCD_JOIN_TOKEN=bcjt_... sudo -E sh install-bcd.sh
#   sudo sh install-bcd.sh --upgrade    reads no token
#   sudo sh install-bcd.sh --helper < token-file    bcd is not root
#
# Without a token, where /etc/bcd/config.toml is, it upgrades bcd in place.
#
# Nothing but functions stands before the last line: a copy that was cut on the
# way does nothing.

bcd_say() {
  printf 'install-bcd: %s\n' "$1"
}

bcd_stop() {
  printf 'install-bcd: %s\n' "$1" >&2
  exit "${2:-1}"
}

bcd_values() {
  version='{{version}}'
  site='{{site}}'
  gateway_url='{{gateway_url}}'
  download_url='{{download_url}}'
  sha256_amd64='{{sha256_amd64}}'
  sha256_arm64='{{sha256_arm64}}'
  serving_ca_pin='{{serving_ca_pin}}'
  join_signing_pin='{{join_signing_pin}}'
  join_encryption_pin='{{join_encryption_pin}}'
  join_encryption_jwk='{{join_encryption_jwk}}'

  program=/usr/local/bin/bcd
  folder=/etc/bcd
  config=$folder/config.toml
  key_file=$folder/join-encryption.jwk
  unit=/etc/systemd/system/bcd.service
  drop_in=$unit.d/data-dir.conf
  tpm_drop_in=$unit.d/tpm.conf
  helper_drop_in=$unit.d/helper.conf
  helper_unit=/etc/systemd/system/bcd-helper.service

  new_program=
  new_config=
  new_key_file=
  new_unit=
  new_drop_in=
  new_tpm_drop_in=
  new_helper_drop_in=
  new_helper_unit=
  lock_folder=
  token=
  newline='
'
}

bcd_arguments() {
  upgrade=no
  helper_asked=no
  for word in "$@"; do
    case $word in
      --upgrade) upgrade=yes ;;
      --helper) helper_asked=yes ;;
      -h | --help)
        printf '%s\n' \
          "Installs bcd $version and joins this machine; run it as root." \
          '  sudo sh install-bcd.sh < token-file' \
          '  BCD_JOIN_TOKEN=bcjt_... sudo -E sh install-bcd.sh' \
          '  sudo sh install-bcd.sh --upgrade    reads no token' \
          'Without a token it upgrades bcd where it was installed before.' \
          'With --helper too, bcd runs as a user of its own (bcd), and' \
          'bcd-helper.service does what takes root.'
        exit 0
        ;;
      *[bB][cC][jJ][tT]_*)
        bcd_stop 'a join token must not be an argument, which everyone on the machine can read: give it on standard input or in BCD_JOIN_TOKEN' 2
        ;;
      *) bcd_stop 'an argument was not expected; see --help' 2 ;;
    esac
  done
}

# What cannot work is found before anything is read, fetched or written.
bcd_check_machine() {
  [ "$(id -u)" = 0 ] || bcd_stop 'run it as root'
  machine=$(uname -m)
  case $machine in
    x86_64 | amd64) arch=amd64 sha256=$sha256_amd64 ;;
    aarch64 | arm64) arch=arm64 sha256=$sha256_arm64 ;;
    *) bcd_stop "there is no bcd for this machine's architecture ('$machine'); x86_64 and aarch64 have one" ;;
  esac
  [ -n "$sha256" ] ||
    bcd_stop "this script holds no SHA-256 of bcd for $arch; make one that does (daemon install-script --sha256 $arch=...)"
  if command -v sha256sum >/dev/null 2>&1; then
    digest_with=sha256sum
  elif command -v shasum >/dev/null 2>&1; then
    digest_with=shasum
  elif command -v openssl >/dev/null 2>&1; then
    digest_with=openssl
  else
    bcd_stop 'a program to check the download with is needed: sha256sum, shasum or openssl'
  fi
  if command -v curl >/dev/null 2>&1; then
    fetch_with=curl
  elif command -v wget >/dev/null 2>&1; then
    fetch_with=wget
  else
    bcd_stop 'a program to download with is needed: curl or wget'
  fi
  command -v systemctl >/dev/null 2>&1 ||
    bcd_stop 'systemctl is needed: bcd runs as a service of systemd'
}

# The value of a text at the top of the configuration that is there.
bcd_configured() {
  sed -n "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*[\"']\\([^\"']*\\)[\"'].*/\\1/p" "$config" |
    head -n 1
}

# Of a table in it.
bcd_configured_in() {
  sed -n "/^[[:space:]]*\\[[[:space:]]*$1[[:space:]]*\\]/,/^[[:space:]]*\\[/s/^[[:space:]]*$2[[:space:]]*=[[:space:]]*[\"']\\([^\"']*\\)[\"'].*/\\1/p" "$config" |
    head -n 1
}

bcd_look_at_configuration() {
  data=/var/lib/bcd
  user=
  tpm_device=/dev/tpmrm0
  if [ -e "$config" ] || [ -L "$config" ]; then
    [ -f "$config" ] ||
      bcd_stop "$config is there, but is no regular file; nothing was changed"
    there=$(bcd_configured site)
    [ "$there" = "$site" ] ||
      bcd_stop "$config is of another site (${there:-none that can be read}), this script of $site; nothing was changed. To move the machine: set $folder and the data folder aside first"
    there=$(bcd_configured data_dir)
    [ -z "$there" ] || data=$there
    if grep -q '^[[:space:]]*\[[[:space:]]*helper[[:space:]]*\]' "$config"; then
      user=$(bcd_configured_in helper user)
      user=${user:-bcd}
    fi
    there=$(bcd_configured_in tpm tcti)
    case $there in
      device:*) tpm_device=${there#device:} ;;
      ?*) tpm_device= ;;
    esac
    [ "$(bcd_configured_in tpm enabled)" != false ] || tpm_device=
  fi
  identity=$data/identity.json
  bcd_check_data_folder
  bcd_look_at_helper
  bcd_look_at_tpm
}

# Where bcd is not root: as which user it is.
bcd_look_at_helper() {
  new_helper=no
  if [ "$helper_asked" = yes ] && [ -z "$user" ]; then
    new_helper=yes
    user=bcd
  fi
  [ -n "$user" ] || return 0
  case $user in
    root | [!a-z_]* | *[!a-z0-9_-]*)
      bcd_stop "[helper] user of $config, $user, is not one that bcd.service can be; nothing was changed"
      ;;
  esac
  id -u "$user" >/dev/null 2>&1 || command -v useradd >/dev/null 2>&1 ||
    command -v adduser >/dev/null 2>&1 ||
    bcd_stop "this machine has no user $user, and no useradd to make it; nothing was changed"
  # bcd would hand over what is root's, and nothing else.
  [ ! -d "$data" ] || bcd_is_of "$data" 0 || bcd_is_users "$data" ||
    bcd_stop "$data belongs neither to root nor to $user, the [helper] user of $config: stop bcd.service and give it to root (chown -hR 0:0 $data), and run this script again; nothing was changed"
}

# What ls tells of $1 in numbers: its mode, its owner, its group.
bcd_look_at() {
  listed=$(ls -ldnL "$1") || return 1
  # shellcheck disable=SC2086  # into its fields: mode, links, user, group
  set -- $listed
  its_mode=$1 its_owner=$3 its_group=$4
}

bcd_is_of() {
  bcd_look_at "$1" && [ "$its_owner" = "$2" ]
}

bcd_is_users() {
  its_user=$(id -u "$user" 2>/dev/null) && bcd_is_of "$1" "$its_user"
}

# bcd.service is root without its powers: the TPM's device it opens as a member
# of its group alone, where it is another user's (bcd's rule too).
bcd_look_at_tpm() {
  tpm_group=
  [ -n "$tpm_device" ] && [ -c "$tpm_device" ] && [ -z "$user" ] || return 0
  bcd_look_at "$tpm_device" || return 0
  [ "$its_owner" = 0 ] || [ "$its_group" = 0 ] || tpm_group=$its_group
}

# The unit may write to /var/lib/bcd alone; another folder is opened to it.
bcd_check_data_folder() {
  opened=
  case $data/ in
    *[!A-Za-z0-9/._-]* | */../* | [!/]* | //)
      bcd_stop "data_dir of $config, $data, must be an absolute path of letters, digits and . _ - for bcd.service; nothing was changed"
      ;;
    /var/lib/bcd/*) ;;
    /home/* | /root/* | /run/user/* | /tmp/* | /var/tmp/*)
      bcd_stop "data_dir of $config, $data, is where bcd.service cannot be: it sees no home and no /tmp; nothing was changed"
      ;;
    *) opened=$data ;;
  esac
}

bcd_is_joined() {
  [ -e "$identity" ]
}

# Here before this run, whether the machine joined then or not.
bcd_is_installed() {
  [ -f "$config" ]
}

# Standard input to its end, of which at most 4096 bytes are a token's.
bcd_read_input() {
  given=$(
    head -c 4097
    printf .
  )
  given=${given%.}
  # Not a way to say "no token": a file that was meant to hold one.
  if [ -z "$given" ] && [ -f /dev/stdin ]; then
    bcd_stop 'the token file is empty; nothing was changed'
  fi
}

bcd_bad_token() {
  bcd_stop 'the token does not look like bcjt_...; nothing was changed'
}

# As bcd reads it: blanks and line ends around it are dropped, nothing else is.
bcd_take_token() {
  [ "${#given}" -le 4096 ] ||
    bcd_stop 'the token input is longer than 4096 bytes; nothing was changed'
  return_character=$(printf '\r')
  tabulator=$(printf '\t')
  blanks=" $tabulator$return_character$newline"
  around=${given##*[!"$blanks"]}
  given=${given%"$around"}
  around=${given%%[!"$blanks"]*}
  given=${given#"$around"}
  case $given in
    *"$newline"* | *"$return_character"*)
      bcd_stop 'the token input holds more than one line; give one token. Nothing was changed'
      ;;
    bcjt_jt_*.*) ;;
    *) bcd_bad_token ;;
  esac
  token_id=${given#bcjt_jt_}
  token_id=${token_id%%.*}
  token_secret=${given#*.}
  case $token_id in
    '' | *[!0-9abcdefghjkmnpqrstvwxyz]*) bcd_bad_token ;;
  esac
  case $token_secret in
    *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-]*)
      bcd_bad_token
      ;;
  esac
  [ "${#token_secret}" = 43 ] || bcd_bad_token
  token=$given
  given=
  token_secret=
}

bcd_read_token() {
  if [ "$upgrade" = yes ]; then
    given=
    bcd_is_joined || bcd_is_installed ||
      bcd_stop 'this machine has not joined, so there is nothing to upgrade: give a join token. Nothing was changed'
    return
  fi
  if [ "$variable_given" = yes ]; then
    # Emptied by mistake, it must not pass for an upgrade.
    [ -n "$given" ] ||
      bcd_stop 'BCD_JOIN_TOKEN is set but empty; nothing was changed'
  elif [ -t 0 ] && bcd_is_joined; then
    given=
  else
    [ ! -t 0 ] ||
      bcd_say 'reading the join token from standard input; end it with Ctrl-D'
    bcd_read_input
  fi
  if [ -n "$given" ]; then
    bcd_take_token
  elif ! bcd_is_joined && ! bcd_is_installed; then
    bcd_stop 'no join token given, and this machine has not joined: give one on standard input (sh install-bcd.sh < token-file) or in BCD_JOIN_TOKEN. Nothing was changed'
  fi
}

# One that everybody may enter, whatever the umask.
bcd_make_folder() {
  [ -d "$1" ] || (umask 022 && mkdir -p "$1") || bcd_stop "cannot make $1"
}

bcd_lock() {
  bcd_make_folder "$folder"
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$folder/.install-lock"
    flock -n 9 ||
      bcd_stop 'another run of the install script is at work on this machine'
  elif mkdir "$folder/.install-lock.d" 2>/dev/null; then
    lock_folder=$folder/.install-lock.d
  else
    bcd_stop "another run of the install script is at work on this machine; if there is none, it was cut off: remove $folder/.install-lock.d"
  fi
}

# shellcheck disable=SC2317  # the trap calls it
bcd_clean_up() {
  for left in "$new_program" "$new_config" "$new_key_file" "$new_unit" \
    "$new_drop_in" "$new_tpm_drop_in" "$new_helper_drop_in" \
    "$new_helper_unit"; do
    [ -z "$left" ] || rm -f "$left"
  done
  [ -z "$lock_folder" ] || rmdir "$lock_folder"
}

bcd_digest() {
  case $digest_with in
    sha256sum) sum=$(sha256sum "$1") ;;
    shasum) sum=$(shasum -a 256 "$1") ;;
    openssl) sum=$(openssl dgst -sha256 -r "$1") ;;
  esac || return 1
  printf '%s\n' "${sum%% *}"
}

bcd_fetch() (
  # A server that sends without end must not fill the disk. The unit is 512
  # bytes, or 1024 in some shells: 256 or 512 MiB.
  ulimit -f 524288
  case $fetch_with in
    curl)
      exec curl -q -fsS --connect-timeout 30 --speed-limit 1024 \
        --speed-time 60 -o "$2" "$1"
      ;;
    # No timeout: Debian's busybox was built without, and crashes by -T.
    wget) exec wget -q -O "$2" "$1" ;;
  esac
)

bcd_get_program() {
  if [ -f "$program" ] && [ "$(bcd_digest "$program")" = "$sha256" ]; then
    bcd_say "$program is bcd $version already"
    return
  fi
  bcd_make_folder "${program%/*}"
  # Beside its place, so that one rename puts it there.
  new_program=$(mktemp "$program.XXXXXX") ||
    bcd_stop "cannot write in ${program%/*}; nothing was changed"
  bcd_fetch "$download_url/linux-$arch" "$new_program" ||
    bcd_stop "cannot download $download_url/linux-$arch; nothing was changed"
  got=$(bcd_digest "$new_program") ||
    bcd_stop 'the SHA-256 of the download cannot be computed; nothing was changed'
  [ "$got" = "$sha256" ] ||
    bcd_stop "the download is not bcd $version: its SHA-256 is $got, not $sha256; nothing was changed"
  chmod 0755 "$new_program"
  "$new_program" version </dev/null >/dev/null 2>&1 ||
    bcd_stop "bcd for $arch does not run on this machine (its C library may be another, or of 32 bits); nothing was changed"
}

bcd_config_text() {
  cat <<END
# Written by the install script. Its keys are set anew by each run; others are
# kept.
gateway_url = "$gateway_url"
site = "$site"
serving_ca_spki_pin = "$serving_ca_pin"
join_signing_key_pin = "$join_signing_pin"
join_encryption_key_pin = "$join_encryption_pin"
END
  [ ! -f "$config" ] || sed \
    -e '/^# Written by the install script\. Its keys /d' \
    -e '/^# kept\.$/d' \
    -e '/^[[:space:]]*gateway_url[[:space:]]*=/d' \
    -e '/^[[:space:]]*site[[:space:]]*=/d' \
    -e '/^[[:space:]]*serving_ca_spki_pin[[:space:]]*=/d' \
    -e '/^[[:space:]]*join_signing_key_pin[[:space:]]*=/d' \
    -e '/^[[:space:]]*join_encryption_key_pin[[:space:]]*=/d' "$config"
  [ "$new_helper" = no ] || printf '\n[helper]\nuser = "%s"\n' "$user"
}

bcd_unit_text() {
  cat <<'END'
{{unit}}
END
}

bcd_helper_unit_text() {
  cat <<'END'
{{helper_unit}}
END
}

# $1: what was made beside its place, for everybody to read; the rest: its lines.
bcd_fill() {
  filled=$1
  shift
  printf '%s\n' "$@" >"$filled" && chmod 0644 "$filled"
}

bcd_write_drop_ins() {
  [ -z "$opened$tpm_group$user" ] || bcd_make_folder "${drop_in%/*}"
  if [ -n "$opened" ]; then
    new_drop_in=$(mktemp "$drop_in.XXXXXX") &&
      bcd_fill "$new_drop_in" \
        "# Written by the install script: data_dir of $config." \
        '[Service]' "ReadWritePaths=$opened" || return 1
  fi
  if [ -n "$tpm_group" ]; then
    new_tpm_drop_in=$(mktemp "$tpm_drop_in.XXXXXX") &&
      bcd_fill "$new_tpm_drop_in" \
        "# Written by the install script: whose $tpm_device is." \
        '[Service]' "SupplementaryGroups=$tpm_group" || return 1
  fi
  [ -n "$user" ] || return 0
  new_helper_drop_in=$(mktemp "$helper_drop_in.XXXXXX") &&
    bcd_fill "$new_helper_drop_in" \
      "# Written by the install script: [helper] of $config." \
      '[Unit]' 'Requires=bcd-helper.service' 'After=bcd-helper.service' \
      '[Service]' "User=$user" &&
    new_helper_unit=$(mktemp "$helper_unit.XXXXXX") &&
    bcd_fill "$new_helper_unit" "$(bcd_helper_unit_text)"
}

# Whether $user may read a file, or enter a folder, by its mode and owner.
bcd_may_user() {
  bcd_look_at "$1" || return 1
  case $its_mode in
    d????????[xt]* | -??????r*) return 0 ;;
    d?????[xs]* | -???r*)
      case " $(id -G "$user" 2>/dev/null) " in
        *" $its_group "*) return 0 ;;
      esac
      ;;
  esac
  return 1
}

# The configuration holds no secret, and bcd.service is another than root.
bcd_open_to_user() {
  [ -n "$user" ] || return 0
  { bcd_may_user "$new_config" || chmod 0644 "$new_config"; } &&
    { bcd_may_user "$folder" || chmod a+x "$folder"; }
}

# Everything is written before the first rename: a full disk changes nothing.
bcd_write_files() {
  bcd_make_folder "${unit%/*}"
  {
    new_config=$(mktemp "$config.XXXXXX") &&
      # Mode and owner of the one that is there: a node that is not root reads it.
      { [ ! -f "$config" ] || [ -L "$config" ] ||
        cp -p "$config" "$new_config"; } &&
      bcd_config_text >"$new_config" &&
      bcd_open_to_user &&
      new_key_file=$(mktemp "$key_file.XXXXXX") &&
      printf '%s\n' "$join_encryption_jwk" >"$new_key_file" &&
      chmod 0644 "$new_key_file" &&
      new_unit=$(mktemp "$unit.XXXXXX") &&
      bcd_unit_text >"$new_unit" &&
      chmod 0644 "$new_unit" &&
      bcd_write_drop_ins
  } || bcd_stop 'the files cannot be written; nothing was changed'
}

# Each in one rename: whatever happens, a whole file is in each place.
bcd_put_files() {
  if [ -n "$new_program" ]; then
    mv -f "$new_program" "$program" ||
      bcd_stop "cannot put $program in place; nothing was changed"
    new_program=
    bcd_say "installed $program $version"
  fi
  {
    mv -f "$new_key_file" "$key_file" && new_key_file= &&
      mv -f "$new_config" "$config" && new_config= &&
      mv -f "$new_unit" "$unit" && new_unit= &&
      bcd_put "$new_drop_in" "$drop_in" && new_drop_in= &&
      bcd_put "$new_tpm_drop_in" "$tpm_drop_in" && new_tpm_drop_in= &&
      bcd_put_helper
  } || bcd_stop 'not every file could be put in place; run this script again'
}

# One that is not wanted any more goes.
bcd_put() {
  if [ -n "$1" ]; then
    mv -f "$1" "$2"
  else
    rm -f "$2"
  fi
}

bcd_put_helper() {
  if [ -n "$user" ]; then
    id -u "$user" >/dev/null 2>&1 || bcd_make_user
    bcd_keep_helper_unit &&
      bcd_put "$new_helper_unit" "$helper_unit" && new_helper_unit= &&
      bcd_put "$new_helper_drop_in" "$helper_drop_in" && new_helper_drop_in=
  elif [ -e "$helper_drop_in" ]; then
    # Without this script's drop-in the unit is somebody else's; it goes last,
    # so that a run that was cut off is finished by the next.
    systemctl disable --now bcd-helper.service 9>&- || :
    systemctl stop bcd.service 9>&- || :
    bcd_take_folder && rm -f "$helper_unit" && rm -f "$helper_drop_in"
  fi
}

# One that another wrote is not lost.
bcd_keep_helper_unit() {
  [ -f "$helper_unit" ] && [ ! -e "$helper_drop_in" ] || return 0
  [ "$(cat "$helper_unit")" != "$(cat "$new_helper_unit")" ] || return 0
  cp -p "$helper_unit" "$helper_unit.before" &&
    bcd_say "$helper_unit was not this script's: it is kept as $helper_unit.before"
}

# bcd is root again, without the power to open what is another's: what was the
# user's in its folder, and nothing else, whatever folder that is now.
bcd_take_folder() {
  [ -d "$data" ] || return 0
  was=$(sed -n 's/^User=//p' "$helper_drop_in" | tail -n 1)
  case $was in
    '' | root | [!a-z_]* | *[!a-z0-9_-]*) return 0 ;;
  esac
  id -u "$was" >/dev/null 2>&1 || {
    bcd_say "this machine has no user $was any more: what was its in $data is left as it is"
    return 0
  }
  find "$data/." -xdev -user "$was" -exec chown -h 0:0 {} + ||
    bcd_stop "what is $was's in $data could not be given to root, and bcd.service is stopped; run this script again"
}

bcd_make_user() {
  if command -v useradd >/dev/null 2>&1; then
    useradd --system --user-group --no-create-home --shell /bin/false "$user"
  else
    adduser -S -D -H -s /bin/false "$user"
  fi || bcd_stop "the user $user could not be made; make it, and run this script again"
  bcd_say "made the user $user"
}

# Nothing that is started here may keep the lock.
bcd_join() {
  if bcd_is_joined; then
    [ -z "$token" ] ||
      bcd_say "already joined ($identity): the token was not used, and stays good. To join anew: systemctl stop bcd; bcd join --config $config --reset --yes < token-file; systemctl restart bcd"
    token=
    bcd_give_folder
    return
  fi
  set -- "$program" join --config "$config"
  # As bcd.service will be: bcd makes no key in a TPM that it cannot open then.
  if [ -n "$tpm_group" ]; then
    groups=$(id -G | tr ' ' ,),$tpm_group
    ! setpriv --groups "$groups" true 2>/dev/null ||
      set -- setpriv --groups "$groups" "$@"
  fi
  # printf is a part of the shell: the token is in no list of arguments.
  printf '%s\n' "$token" | "$@" 9>&- || {
    code=$?
    bcd_stop "the machine did not join (bcd's exit code $code). The files are in place: run this script again with a token that is good" "$code"
  }
  token=
  bcd_give_folder
}

# What was joined as root becomes the user's. bcd join does that, last, where no
# bcd has the folder in hand.
bcd_give_folder() {
  [ -n "$user" ] && ! bcd_is_users "$data" || return 0
  systemctl stop bcd.service 9>&- || :
  "$program" join --config "$config" </dev/null >/dev/null 9>&- || :
  bcd_is_users "$data" ||
    bcd_stop "$data could not be given to $user, and bcd.service is stopped: mend what bcd says above, and run this script again"
}

# Without a token, on a machine that has not joined: nothing is started that
# would only say so. Unless it was asked for, it is no success: what was to give
# the token may have given nothing.
bcd_upgrade_unjoined() {
  bcd_restart_what_runs
  not_yet="bcd $version is in place, but this machine has not joined yet: run this script again with a join token (sh install-bcd.sh < token-file)"
  [ "$upgrade" = yes ] || bcd_stop "$not_yet"
  bcd_say "$not_yet"
}

bcd_restart_what_runs() {
  systemctl daemon-reload 9>&- || bcd_stop 'systemctl cannot load bcd.service'
  for service in ${user:+bcd-helper.service} bcd.service; do
    ! systemctl is-active "$service" >/dev/null 2>&1 9>&- ||
      systemctl restart "$service" 9>&- ||
      bcd_stop "$service did not start; see: systemctl status $service"
  done
}

bcd_start() {
  { systemctl daemon-reload 9>&- && systemctl enable bcd.service 9>&-; } ||
    bcd_stop 'systemctl cannot enable bcd.service'
  if [ -n "$user" ]; then
    systemctl enable bcd-helper.service 9>&- ||
      bcd_stop 'systemctl cannot enable bcd-helper.service'
    systemctl restart bcd-helper.service 9>&- ||
      bcd_stop 'bcd-helper.service did not start; see: systemctl status bcd-helper.service'
  fi
  systemctl restart bcd.service 9>&- ||
    bcd_stop 'bcd.service did not start; see: systemctl status bcd.service, journalctl -u bcd.service'
  bcd_say 'bcd.service runs; what it does: bcd doctor, journalctl -u bcd.service'
}

bcd_install() {
  # A trace would show the token, and a child must not be given it.
  set +x +a
  variable_given=no
  given=
  if [ "${BCD_JOIN_TOKEN+set}" = set ]; then
    variable_given=yes
    given=$BCD_JOIN_TOKEN
    unset BCD_JOIN_TOKEN
  fi
  umask 077
  LC_ALL=C
  export LC_ALL
  bcd_values
  bcd_arguments "$@"
  bcd_check_machine
  bcd_look_at_configuration
  bcd_read_token
  trap 'bcd_clean_up' EXIT
  trap 'exit 1' HUP INT TERM
  bcd_lock
  bcd_get_program
  bcd_write_files
  bcd_put_files
  if [ -z "$token" ] && ! bcd_is_joined; then
    bcd_upgrade_unjoined
    return
  fi
  bcd_join
  bcd_start
}

{ bcd_install "$@"; exit; }
