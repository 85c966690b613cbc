import java.awt.AWTEvent;
import java.awt.AWTException;
import java.awt.Color;
import java.awt.Component;
import java.awt.Graphics;
import java.awt.GraphicsEnvironment;
import java.awt.Point;
import java.awt.Robot;
import java.awt.Toolkit;
import java.awt.event.KeyAdapter;
import java.awt.event.KeyEvent;
import java.awt.event.MouseEvent;
import java.awt.event.MouseMotionAdapter;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import javax.sound.sampled.AudioFormat;
import javax.sound.sampled.AudioSystem;
import javax.sound.sampled.Clip;
import javax.sound.sampled.LineUnavailableException;
import javax.swing.JComponent;
import javax.swing.JFrame;
import javax.swing.SwingUtilities;
import javax.swing.Timer;

/** A game with AWT: it prints each input that it takes, plays a tone, and saves the number of its sessions. */
final class Game extends JComponent {
  private static final long serialVersionUID = 1;
  private static final int FRAME_MS = 16;
  private static final int SAMPLE_RATE = 44100;
  /** Farther from the middle than this, the pointer is moved back to it. */
  private static final int FREE_PIXELS = 200;

  private final transient Robot robot;
  private int frame;
  private int lastX = -1;
  private int lastY;
  private transient Point movedBackTo;

  private Game(Robot robot) {
    this.robot = robot;
    addMouseMotionListener(
        new MouseMotionAdapter() {
          @Override
          public void mouseMoved(MouseEvent event) {
            look(event.getX(), event.getY());
          }
        });
  }

  /** Every motion counts: a game that turns the view adds them up. */
  @Override
  protected AWTEvent coalesceEvents(AWTEvent earlier, AWTEvent later) {
    return null;
  }

  private void look(int x, int y) {
    boolean isMovedBack = movedBackTo != null && movedBackTo.x == x && movedBackTo.y == y;
    if (isMovedBack) movedBackTo = null;
    else if (lastX >= 0 && (x != lastX || y != lastY)) System.out.println("look " + (x - lastX) + " " + (y - lastY));
    lastX = x;
    lastY = y;
    Point middle = new Point(getWidth() / 2, getHeight() / 2);
    if (movedBackTo != null || middle.distance(x, y) <= FREE_PIXELS) return;
    movedBackTo = new Point(middle);
    SwingUtilities.convertPointToScreen(middle, this);
    robot.mouseMove(middle.x, middle.y);
  }

  @Override
  protected void paintComponent(Graphics graphics) {
    graphics.setColor(new Color(20, 40, 90));
    graphics.fillRect(0, 0, getWidth(), getHeight());
    graphics.setColor(new Color(240, 160, 40));
    graphics.fillRect(200 + frame % 300, 200, 300, 300);
  }

  private void show(JFrame window) {
    window.setUndecorated(true);
    window.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
    window.add(this);
    window.setCursor(
        Toolkit.getDefaultToolkit()
            .createCustomCursor(new BufferedImage(1, 1, BufferedImage.TYPE_INT_ARGB), new Point(), "none"));
    window.addKeyListener(
        new KeyAdapter() {
          @Override
          public void keyPressed(KeyEvent event) {
            System.out.println("key " + KeyEvent.getKeyText(event.getKeyCode()));
          }
        });
    GraphicsEnvironment.getLocalGraphicsEnvironment().getDefaultScreenDevice().setFullScreenWindow(window);
    new Timer(
            FRAME_MS,
            tick -> {
              frame++;
              repaint();
              Toolkit.getDefaultToolkit().sync();
            })
        .start();
  }

  private static void save() throws IOException {
    Path folder = Path.of(System.getProperty("user.home"), ".compat");
    Path file = folder.resolve("save.txt");
    Files.createDirectories(folder);
    folder.register(FileSystems.getDefault().newWatchService(), StandardWatchEventKinds.ENTRY_MODIFY);
    int before = Files.exists(file) ? Integer.parseInt(Files.readString(file)) : 0;
    System.out.println("sessions " + before);
    Files.writeString(file, String.valueOf(before + 1));
  }

  private static void playTone() throws LineUnavailableException {
    byte[] samples = new byte[2 * SAMPLE_RATE];
    for (int at = 0; at < SAMPLE_RATE; at++) {
      short sample = (short) (6000 * Math.sin(440 * 2 * Math.PI * at / SAMPLE_RATE));
      samples[2 * at] = (byte) sample;
      samples[2 * at + 1] = (byte) (sample >> 8);
    }
    Clip clip = AudioSystem.getClip();
    clip.open(new AudioFormat(SAMPLE_RATE, 16, 1, true, false), samples, 0, samples.length);
    clip.loop(Clip.LOOP_CONTINUOUSLY);
  }

  /** Reads the first gamepad, which may be connected later, as JInput does. */
  private static void readPad() {
    Path device = Path.of("/dev/input/js0");
    byte[] event = new byte[8];
    while (true) {
      try (InputStream pad = Files.newInputStream(device)) {
        while (pad.readNBytes(event, 0, event.length) == event.length)
          if (event[6] == 1 && event[4] == 1) System.out.println("pad " + event[7]);
      } catch (IOException notConnected) {
        // Tried again.
      }
      try {
        Thread.sleep(500);
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  public static void main(String[] arguments) throws IOException, LineUnavailableException, AWTException {
    save();
    playTone();
    Thread pads = new Thread(Game::readPad);
    pads.setDaemon(true);
    pads.start();
    Game game = new Game(new Robot());
    SwingUtilities.invokeLater(() -> game.show(new JFrame("compat")));
  }
}
