/* A game for the NES: each direction changes the background, a tone plays, and the cartridge's battery keeps
 * the number of sessions. */
#include <conio.h>
#include <joystick.h>
#include <nes.h>

static volatile unsigned char *const sound = (unsigned char *)0x4000;
/* In the memory that the battery keeps, behind all variables. */
static struct {
  unsigned char isWritten;
  unsigned char sessions;
} *const saved = (void *)0x7f00;

static const unsigned char backgrounds[] = {COLOR_BLUE, COLOR_RED, COLOR_GREEN, COLOR_GRAY2};

static void playTone(void) {
  sound[0x15] = 1;    /* the first channel */
  sound[0x00] = 0xbf; /* a square, as loud as it gets, for ever */
  sound[0x01] = 0;
  sound[0x02] = 253; /* 440 Hz */
  sound[0x03] = 0x08;
}

void main(void) {
  unsigned char before = 0, pad, background = 0, line;
  if (saved->isWritten != 0x5a) {
    saved->isWritten = 0x5a;
    saved->sessions = 0;
  }
  bgcolor(backgrounds[0]);
  clrscr();
  for (line = 4; line < 20; line += 2) cputsxy(4, line, "########################");
  gotoxy(8, 24);
  cprintf("sessions %u", saved->sessions);
  saved->sessions++;
  joy_install(joy_static_stddrv);
  playTone();
  for (;;) {
    waitvsync();
    pad = joy_read(JOY_1);
    if (pad && !before) bgcolor(backgrounds[++background % sizeof backgrounds]);
    before = pad;
  }
}
